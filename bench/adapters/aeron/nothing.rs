//! A package needs a source.
