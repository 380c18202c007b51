"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const VERDICTS = [
    { name: "allowed", mark: "●", symbol: "circle", colour: "#0072b2", size: 8, line: 0, where: "that is allowed" },
    { name: "over the suppression limit", mark: "△", symbol: "triangle-up-open", colour: "#d55e00", size: 8, line: 1.2, where: "over the suppression limit" },
    { name: "models fail everywhere", mark: "×", symbol: "x-thin-open", colour: "#555555", size: 8, line: 1.6, where: "at which the models fail everywhere" },
  ];
  const PAGE = 100;
  const total = data.levels.length;
  const share = data.suppressed.map((rows) => rows / data.rows);
  const byId = (id) => document.getElementById(id);
  const state = { picked: data.optimum, sort: "order", down: false, rows: PAGE, shown: [], texts: [] };

  // ---- texts

  // Formatters are made once: making one takes far longer than using it.
  const format = (options) => new Intl.NumberFormat("en-GB", options).format;
  const orDash = (write) => (value) => value === null ? "–" : write(value);
  const count = format({});
  const figure = orDash(format({ maximumSignificantDigits: 6 }));
  // In a column of the table figures have the same number of decimals.
  const largest = data.loss.reduce((most, loss) => Math.max(most, Math.abs(loss)), 0);
  const places = largest < 10 ? 5 : largest < 1000 ? 2 : 0;
  const aligned = orDash(format({ minimumFractionDigits: places, maximumFractionDigits: places }));
  const percent = (value) => `${(100 * value).toFixed(2)} %`;
  const toml = (i) => `node = [${data.levels[i].join(", ")}]`;
  const decimal = (value) => String(Number(value.toPrecision(12)));
  // The smallest limit of four digits that a run would accept.
  const needed = (i) => Math.min(1, Math.ceil(share[i] * 1e4 - 1e-9) / 1e4);
  // Plotly reads a little HTML in its texts.
  const plainText = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const verdictText = (i) => i === data.optimum ? "★ optimum" : `${VERDICTS[data.verdict[i]].mark} ${VERDICTS[data.verdict[i]].name}`;

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  function copyButton(text, label = "copy") {
    const button = element("button", { type: "button", title: "Copy to the clipboard" }, label);
    button.addEventListener("click", async (event) => {
      event.stopPropagation();
      const done = await copy(text);
      if (!done) getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = done ? "copied" : "press Ctrl+C";
      setTimeout(() => { button.textContent = label; }, 1500);
    });
    return button;
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Browsers that give local files no clipboard still copy what is selected.
      const area = element("textarea", { style: "position:fixed;opacity:0" });
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  // ---- filters

  const controls = { verdicts: [], levels: [], loss: null, suppressed: null };

  function buildFilters() {
    const form = byId("filters");
    form.addEventListener("input", refresh);
    form.addEventListener("submit", (event) => event.preventDefault());
    const [verdicts, levels] = [element("fieldset"), element("fieldset")];
    VERDICTS.forEach((verdict, v) => {
      const nodes = data.verdict.filter((one) => one === v).length;
      controls.verdicts[v] = element("input", { type: "checkbox", checked: "", ...(nodes ? {} : { disabled: "" }) });
      verdicts.append(element("label", {}, controls.verdicts[v], `${verdict.mark} ${verdict.name} (${count(nodes)})`));
    });
    const bound = data.better === "up" ? "at least" : "at most";
    controls.loss = element("input", { type: "number", step: "any" });
    controls.suppressed = element("input", { type: "number", step: "any", min: "0", max: "100" });
    const labelled = [[`${data.measure} ${bound}`, controls.loss], ["suppressed at most, %", controls.suppressed]];
    verdicts.append(...labelled.map((pair) => element("label", {}, ...pair)));
    data.columns.forEach((name, a) => {
      const choice = element("select", {}, element("option", { value: "" }, "any level"));
      for (let level = 0; level < data.heights[a]; level += 1) {
        choice.append(element("option", { value: level }, level ? `at most ${level}` : "0, as it is"));
      }
      controls.levels[a] = choice;
      levels.append(element("label", { class: "stacked" }, name, choice));
    });
    form.append(verdicts, levels, element("button", { type: "reset", onclick: () => setTimeout(refresh) }, "Clear the filters"));
  }

  function passes(i) {
    const loss = controls.loss.valueAsNumber;
    const most = controls.suppressed.valueAsNumber / 100;
    if (!controls.verdicts[data.verdict[i]].checked) return false;
    if (!Number.isNaN(most) && share[i] > most + 1e-12) return false;
    if (!Number.isNaN(loss) && (data.loss[i] === null || (data.better === "up" ? data.loss[i] < loss : data.loss[i] > loss))) return false;
    return controls.levels.every((choice, a) => choice.value === "" || data.levels[i][a] <= Number(choice.value));
  }

  // ---- table

  const FIGURES = [
    { key: "order", title: "verdict", type: "text" },
    { key: "loss", title: data.measure },
    { key: "suppressed", title: "suppressed" },
    { key: "classes", title: "classes" },
    { key: "smallest", title: "smallest class", type: "smallest" },
  ];

  function value(key, i) {
    if (key === "order") return i; // nodes come best first within each verdict
    return key.startsWith("level ") ? data.levels[i][Number(key.slice(6))] : data[key][i];
  }

  function heading(key, title, type) {
    const sorted = state.sort === key;
    const arrow = sorted ? (state.down ? " ▼" : " ▲") : "";
    const direction = sorted ? (state.down ? "descending" : "ascending") : "none";
    const sort = () => {
      state.down = sorted ? !state.down : key === "smallest" || key === "classes" || (key === "loss" && data.better === "up");
      state.sort = key;
      state.rows = PAGE;
      drawTable();
    };
    return element("th", { scope: "col", class: type || "", "aria-sort": direction }, element("button", { type: "button", title: `Sort by ${title}`, onclick: sort }, title + arrow));
  }

  function drawTable() {
    const head = element("tr", {}, ...FIGURES.map((one) => heading(one.key, one.title, one.type)));
    data.columns.forEach((name, a) => head.append(heading(`level ${a}`, name, "level")));
    head.append(element("th", { scope: "col", class: "text", style: "padding-left:14px" }, "line for the recipe"));
    document.querySelector("#nodes thead").replaceChildren(head);
    const sign = state.down ? -1 : 1;
    const order = [...state.shown].sort((i, j) => {
      const [a, b] = [value(state.sort, i), value(state.sort, j)];
      if (a === null || b === null) return (a === null) - (b === null) || i - j;
      return sign * (a - b) || i - j;
    });
    document.querySelector("#nodes tbody").replaceChildren(...order.slice(0, state.rows).map(tableRow));
    byId("shown").textContent = `${count(order.length)} of ${count(total)} nodes pass the filters; `
      + `${count(Math.min(state.rows, order.length))} are listed. Click a heading to sort, a row to select.`;
    byId("more").hidden = state.rows >= order.length;
  }

  function tableRow(i) {
    const enter = (event) => { if (event.key === "Enter" && event.target === row) pick(i); };
    const row = element("tr", { "data-node": i, tabindex: 0, onclick: () => pick(i), onkeydown: enter });
    row.classList.toggle("picked", i === state.picked);
    const cells = [verdictText(i), aligned(data.loss[i]), percent(share[i]), count(data.classes[i]), data.classes[i] ? count(data.smallest[i]) : "–"];
    row.append(...cells.map((text, c) => element("td", { class: FIGURES[c].type || "" }, text)));
    data.levels[i].forEach((level, a) => row.append(element("td", { class: "level", title: `${data.columns[a]}: ${data.level_names[a][level]}` }, String(level))));
    row.append(element("td", { class: "copy" }, element("code", {}, toml(i)), copyButton(toml(i))));
    return row;
  }

  // ---- the selected node

  function pick(i) {
    state.picked = i;
    document.querySelectorAll("#nodes tbody tr").forEach((row) => row.classList.toggle("picked", Number(row.dataset.node) === i));
    drawPicked();
    if (window.Plotly) Plotly.relayout("plot", { shapes: shapes() });
  }

  function drawPicked() {
    const i = state.picked;
    const panel = byId("picked");
    if (i === null) {
      panel.replaceChildren(element("h2", {}, "No node is selected"), element("p", {}, "Click a node in the plot or a row of the table."));
      return;
    }
    const text = `[algorithm]\nname = "optimal"\n${toml(i)}\nsuppression_limit = ${decimal(data.limit)}\n`
      + (data.extra ? `\n${data.extra.trim()}\n` : "");
    const classes = data.classes[i] ? `${count(data.classes[i])} classes, the smallest of ${count(data.smallest[i])} rows` : "no class holds";
    const facts = `${data.measure} ${figure(data.loss[i])}; ${count(data.suppressed[i])} of ${count(data.rows)} rows suppressed `
      + `(${percent(share[i])}); ${classes}.`;
    const title = i === data.optimum ? (data.proven ? "Selected: the optimum" : "Selected: the best node found") : `Selected: a node ${VERDICTS[data.verdict[i]].where}`;
    const levels = element("table", {}, ...data.columns.map((name, a) => element("tr", {},
      element("th", { scope: "row" }, name),
      element("td", { class: "number" }, `level ${data.levels[i][a]} of ${data.heights[a]}`),
      element("td", { class: "soft" }, data.level_names[a][data.levels[i][a]]))));
    const advice = ["",
      `A run refuses this node as long as suppression_limit is below ${decimal(needed(i))}.`,
      "A run refuses this node whatever the suppression limit: no class satisfies the models."][data.verdict[i]];
    panel.replaceChildren(element("h2", {}, title), element("p", {}, facts), element("div", { class: "parts" }, levels,
      element("div", {}, element("pre", {}, text), copyButton(text, "copy these lines"), ...(advice ? [element("p", {}, advice)] : []))));
  }

  // ---- plot

  const hover = (i) => state.texts[i] ||= hoverText(i);

  function hoverText(i) {
    const levels = data.columns.length > 12
      ? data.columns.map((name, a) => `${a % 4 ? "" : "<br>"}${plainText(name)} <b>${data.levels[i][a]}</b>`).join(", ").split(", <br>")
      : data.columns.map((name, a) => `${plainText(name)} <b>${data.levels[i][a]}</b> (${plainText(data.level_names[a][data.levels[i][a]])})`);
    const classes = data.classes[i] ? `${count(data.classes[i])} classes, smallest ${count(data.smallest[i])}` : "no class holds";
    return [`<b>${verdictText(i)}</b>`, `${data.measure} ${figure(data.loss[i])}, ${percent(share[i])} suppressed`, classes, ...levels].join("<br>");
  }

  function trace(nodes, name, marker, more = {}) {
    return {
      type: "scatter", mode: "markers", name, marker, x: nodes.map((i) => data.loss[i]), y: nodes.map((i) => share[i]),
      customdata: nodes, hovertext: nodes.map((i) => hover(i)), hoverinfo: "text", ...more,
    };
  }

  function traces() {
    const crowded = state.shown.length > 1500;
    const best = data.optimum === null ? [] : [data.optimum];
    const groups = VERDICTS.map((verdict, v) => {
      const nodes = state.shown.filter((i) => data.verdict[i] === v);
      return trace(nodes.filter((i) => i !== data.optimum), `${verdict.name} (${count(nodes.length)})`, {
        symbol: verdict.symbol, size: crowded ? verdict.size - 2 : verdict.size, color: verdict.colour,
        opacity: crowded ? 0.6 : 0.85, line: { width: verdict.line, color: verdict.colour },
      }, { legendrank: 2 + v });
    }).reverse();
    groups.push(trace(best, data.proven ? "optimum" : "best node found",
      { symbol: "star", size: 18, color: "#f0e442", line: { width: 1.5, color: "#000" } }, { showlegend: best.length > 0, legendrank: 1 }));
    // The ring itself is a shape, which moves without drawing thousands of markers again; this is its legend.
    const ring = { symbol: "circle-open", size: 20, color: "#000", line: { width: 2 } };
    groups.push({ type: "scatter", mode: "markers", name: "selected", marker: ring, x: [null], y: [null], hoverinfo: "skip", legendrank: 9 });
    return groups;
  }

  function shapes() {
    const i = state.picked;
    const found = [{ type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: data.limit, y1: data.limit,
      line: { dash: "dash", width: 1.2, color: "#1b1b1b" } }];
    if (i !== null && data.loss[i] !== null) {
      found.push({ type: "circle", xref: "x", yref: "y", xsizemode: "pixel", ysizemode: "pixel", xanchor: data.loss[i], yanchor: share[i],
        x0: -12, x1: 12, y0: -12, y1: 12, line: { width: 2, color: "#000" } });
    }
    return found;
  }

  const down = data.better === "down";
  const layout = {
    margin: { l: 70, r: 20, t: 36, b: 56 },
    font: { family: "system-ui, sans-serif", size: 13, color: "#1b1b1b" },
    paper_bgcolor: "#fff", plot_bgcolor: "#fff",
    hovermode: "closest", hoverlabel: { bgcolor: "#fff", bordercolor: "#1b1b1b", align: "left", font: { size: 12, color: "#1b1b1b" } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", xanchor: "left", itemsizing: "constant" },
    xaxis: { title: { text: `${down ? "← better   " : ""}${data.measure}: ${data.about}${down ? "" : "   better →"}` }, zeroline: false, gridcolor: "#e6e6e6", linecolor: "#888", showline: true },
    yaxis: { title: { text: "← better   rows suppressed" }, tickformat: ".3~%", zeroline: false, gridcolor: "#e6e6e6", linecolor: "#888", showline: true },
    annotations: [{ xref: "paper", x: 1, yref: "y", y: data.limit, text: `limit ${decimal(100 * data.limit)} %`, showarrow: false, xanchor: "right", yanchor: "bottom" }],
  };
  // No button of plotly's sends a chart to its makers.
  const config = {
    responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "", showTips: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], toImageButtonOptions: { filename: "private-nodes", scale: 2 },
  };

  function frame(allowedOnly) {
    const nodes = [...Array(total).keys()].filter((i) => !allowedOnly || data.verdict[i] === 0);
    const known = nodes.map((i) => data.loss[i]).filter((loss) => loss !== null);
    const [low, high] = [known.reduce((a, b) => Math.min(a, b), Infinity), known.reduce((a, b) => Math.max(a, b), -Infinity)];
    const room = 0.04 * (high - low || Math.abs(high) || 1);
    layout.xaxis.range = known.length ? [low - room, high + room] : [0, 1];
    const most = nodes.reduce((a, i) => Math.max(a, share[i]), allowedOnly ? data.limit : 0) || 0.01;
    layout.yaxis.range = [-0.04 * most, 1.06 * most];
    byId("view-all").setAttribute("aria-pressed", String(!allowedOnly));
    byId("view-allowed").setAttribute("aria-pressed", String(allowedOnly));
  }

  function drawPlot() {
    // Zooming changes the ranges in this very layout, so that they stay until a view is chosen again.
    layout.shapes = shapes();
    if (window.Plotly) Plotly.react("plot", traces(), layout, config);
  }

  function refresh() {
    state.shown = [...Array(total).keys()].filter(passes);
    state.rows = PAGE;
    drawTable();
    drawPlot();
  }

  buildFilters();
  byId("more").addEventListener("click", () => { state.rows += PAGE; drawTable(); });
  byId("view-all").addEventListener("click", () => { frame(false); drawPlot(); });
  byId("view-allowed").addEventListener("click", () => { frame(true); drawPlot(); });
  byId("view-allowed").disabled = !data.verdict.includes(0);
  frame(false);
  refresh();
  drawPicked();
  if (window.Plotly) byId("plot").on("plotly_click", (event) => pick(event.points[0].customdata));
})();
