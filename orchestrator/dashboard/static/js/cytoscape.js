// Written by docs/make_frontend.py. The library is imported from here alone.
export { default } from "../vendor/cytoscape-3.34.4.min.js";
