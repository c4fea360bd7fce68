// A library that isn't a plug-in.
extern "C" int something() { return 1; }
