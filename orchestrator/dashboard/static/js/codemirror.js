// Written by docs/make_frontend.py. The library is imported from here alone.
export * from "../vendor/codemirror-6.43.15.min.js";
