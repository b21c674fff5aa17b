//! A package needs a source file.
