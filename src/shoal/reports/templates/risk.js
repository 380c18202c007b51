"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const LOOKS = {
    prosecutor: { colour: "#0072b2", dash: "solid", symbol: "circle" },
    journalist: { colour: "#d55e00", dash: "dot", symbol: "triangle-up" },
  };
  // Plotly reads a little HTML in its texts.
  const plainText = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const axis = (text, more = {}) => ({ title: { text }, zeroline: false, gridcolor: "#e6e6e6", linecolor: "#888", showline: true, automargin: true, ...more });
  const layout = (xaxis, yaxis, more = {}) => ({
    margin: { l: 70, r: 20, t: 30, b: 56 },
    font: { family: "system-ui, sans-serif", size: 13, color: "#1b1b1b" },
    paper_bgcolor: "#fff", plot_bgcolor: "#fff", xaxis, yaxis,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", xanchor: "left" },
    ...more,
  });
  // No button of plotly's sends a chart to its makers.
  const config = {
    responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "", showTips: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], toImageButtonOptions: { filename: "private-risk", scale: 2 },
  };
  const draw = (id, traces, shape) => { if (window.Plotly) Plotly.react(id, traces, shape, config); };

  const curves = Object.entries(data.curves).map(([who, points]) => ({
    type: "scatter", mode: "lines+markers", name: who,
    x: points.map((point) => point[0]), y: points.map((point) => point[1]),
    line: { shape: "hv", color: LOOKS[who].colour, dash: LOOKS[who].dash }, marker: { symbol: LOOKS[who].symbol, size: 6 },
    hovertemplate: "%{y:.2%} of the records have a risk of %{x:.3f} or more<extra></extra>",
  }));
  const highest = Math.max(...curves.flatMap((curve) => curve.y));
  curves.push({
    type: "scatter", mode: "lines", name: `threshold ${data.threshold}`, x: [data.threshold, data.threshold], y: [0, highest || 1],
    line: { dash: "dash", width: 1.5, color: "#1b1b1b" }, hoverinfo: "skip",
  });
  draw("curve", curves, layout(
    axis("risk of a record (logarithmic)", { type: "log", tickvals: [1, 0.5, 0.2, 0.1, 0.05, 0.02], range: [Math.log10(Math.min(0.018, 0.9 * data.threshold)), 0.03] }),
    axis("share of records with that risk or more", { tickformat: ".0%", rangemode: "tozero" }),
    { showlegend: true }));

  draw("sizes", [{
    type: "bar", x: data.sizes.map((one) => one.label), y: data.sizes.map((one) => one.records), customdata: data.sizes.map((one) => one.classes),
    marker: { color: "#0072b2" }, hovertemplate: "%{y} records in %{customdata} classes of %{x}<extra></extra>",
  }], layout(axis("size of the class", { type: "category" }), axis("records in classes of that size", { rangemode: "tozero" })));

  const names = data.columns.map(plainText);
  const bars = (name, values, colour, pattern) => ({
    type: "bar", orientation: "h", name, y: names, x: values, marker: { color: colour, pattern: { shape: pattern } },
    hovertemplate: "%{y}: %{x:.2%}<extra></extra>",
  });
  const traces = [bars("drop of the mean risk without it", data.mean_drop, "#0072b2", ""), bars("drop of unique records without it", data.unique_drop, "#d55e00", "/")];
  if (data.suda !== null) traces.push(bars("share of the SUDA scores", data.suda, "#777777", "."));
  document.getElementById("contributions").style.height = `${160 + 56 * names.length}px`;
  draw("contributions", traces, layout(axis("share", { tickformat: ".0%" }), axis("quasi-identifier", { autorange: "reversed", type: "category" }), { showlegend: true, barmode: "group" }));
})();
