/** Plotly with the traces that small charts use; a chunk of its own, loaded when the first chart is shown. */

import box from "plotly.js/lib/box";
import Plotly from "plotly.js/lib/core";
import "plotly.js/dist/plotly.css";

Plotly.register([box]);
export default Plotly;
