// The one function of the pages' scripts that writes numbers, to the last sign as numerals.py does: a test compares both. The steps come from there.
"use strict";

globalThis.tachologNumerals = (() => {
  const DIGITS = 3;
  const AS_PRINTED = 12; // more than any log prints, and less than binary fractions spoil
  const THIN = "\u202f"; // narrow no-break space
  const NBSP = "\u00a0";

  // The digits of a number as a whole number, and the power of ten of the first: 12.5 is 125000000000 and 1. Halves go away from zero.
  function parts(number) {
    const [digits, power] = Math.abs(number).toExponential(AS_PRINTED - 1).split("e");
    return [BigInt(digits.replace(".", "")), Number(power)];
  }

  function without(digits, count) {
    if (count <= 0) return digits * 10n ** BigInt(-count);
    const step = 10n ** BigInt(count);
    return (digits + step / 2n) / step;
  }

  const grouped = (whole) => String(whole).replace(/\B(?=(\d{3})+$)/g, THIN);

  // Three significant digits, and all that stand before the point.
  function rounded(number) {
    if (number === 0) return "0";
    const [digits, power] = parts(number);
    const places = Math.max(0, DIGITS - 1 - power);
    const text = String(without(digits, AS_PRINTED - 1 - power - places)).padStart(places + 1, "0");
    const fraction = text.slice(text.length - places).replace(/0+$/, "");
    return `${number < 0 ? "-" : ""}${grouped(text.slice(0, text.length - places))}${places && fraction ? `.${fraction}` : ""}`;
  }

  // A number in the step that reads best; `steps` are [sign, size], the largest first. 999.6 ns are 1 µs. Without steps it is a bare number.
  function numeral(number, steps = [["", 1]]) {
    const [digits, power] = parts(number);
    const near = Number(`${without(digits, AS_PRINTED - DIGITS)}e${power - DIGITS + 1}`);
    const [sign, size] = steps.find(([, least]) => near >= least) ?? steps.at(-1);
    return sign ? `${rounded(number / size)}${NBSP}${sign}` : rounded(number / size);
  }

  return { numeral };
})();
