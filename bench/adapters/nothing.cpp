// A CMake library needs a source file, even if no adapter can be built.
