// What the fake compiler loads when it compiles: nothing of it is called.
extern "C" int fake_nvrtc_builtins() { return 0; }
