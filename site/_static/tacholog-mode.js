// Sets the colours of a page before it is drawn: those that the reader chose, else those of the system.
"use strict";

(() => {
  const { dataset } = document.documentElement;
  dataset.mode = localStorage.getItem("mode") || "auto";
  dataset.theme = localStorage.getItem("theme") || "auto";
})();
