// Runs each fuzz target with the inputs that once found a fault (seeds/NAME/), and with some hundred random inputs that
// are always the same. This is for builds with a sanitizer but without libFuzzer.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

// CMake renames the LLVMFuzzerTestOneInput of each target, and passes the new names in DECODERS: X(control) X(stream)
// ...
#define X(name) extern "C" int replay_##name(const std::uint8_t*, std::size_t);
DECODERS
#undef X

namespace {

constexpr int random_inputs = 500;
constexpr std::size_t longest_bytes = 1024;

using Decoder = int (*)(const std::uint8_t*, std::size_t);

void replay(const std::string& name, Decoder decode, const std::filesystem::path& seeds) {
    std::size_t kept = 0;
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator{seeds / name, none}) {
        // If the target crashes, this is the last line of the output.
        std::cout << name << ": " << file.path().filename().string() << std::endl;
        std::ifstream stream{file.path(), std::ios::binary};
        const std::vector<char> bytes{std::istreambuf_iterator<char>{stream}, {}};
        decode(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        ++kept;
    }
    std::mt19937 random{1};
    std::cout << name << ": " << kept << " kept inputs, " << random_inputs << " random ones" << std::endl;
    for (int count = 0; count < random_inputs; ++count) {
        std::vector<std::uint8_t> bytes(random() % longest_bytes);
        // Half of the inputs have only small numbers, because a decoder more often accepts these as a length or a kind.
        const unsigned range = count % 2 == 0 ? 256 : 8;
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % range);
        decode(bytes.data(), bytes.size());
    }
}

}  // namespace

int main(int, char** argv) {
#define X(name) replay(#name, replay_##name, argv[1]);
    DECODERS
#undef X
}
