/** The WebGL scatter for thousands of points, in the variant that needs no eval. */
import Plotly from "plotly.js/lib/core";
import scattergl from "plotly.js/src/traces/scattergl/strict";

Plotly.register([scattergl]);
