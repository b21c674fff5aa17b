// An archive needs a source, also where no adapter can be built.
