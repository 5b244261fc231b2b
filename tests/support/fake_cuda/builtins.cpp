// The library that the fake compiler loads when it compiles. Nothing in it is called.
extern "C" int fake_nvrtc_builtins() { return 0; }
