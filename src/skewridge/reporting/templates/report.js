(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const live = JSON.parse(document.getElementById("live").textContent);
  const hidden = new Set();
  root.classList.add("script");

  const theme = document.getElementById("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const showTheme = () => theme.setAttribute("aria-pressed", dark());
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; showTheme(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  showTheme();

  for (const chart of all(".chart")) {
    const [plot] = all(".plot", chart), [tip] = all(".tip", chart), [cursor] = all(".cursor", chart);
    const marks = live.marks[chart.dataset.chart].slice().sort((a, b) => a[0] - b[0]);
    const flat = chart.dataset.near === "x";
    let at = -1;
    const point = (i) => {
      at = i;
      tip.hidden = cursor.hidden = i < 0;
      if (i < 0) return;
      const [x, y, text] = marks[i];
      tip.textContent = text;
      tip.style.left = cursor.style.left = `${x}%`;
      tip.style.transform = `translateX(-${x}%)`;
      cursor.style.bottom = flat ? 0 : `${y}%`;
    };
    const step = (from, by) => {
      let i = from + by;
      while (marks[i] && hidden.has(marks[i][3])) i += by;
      if (marks[i]) point(i);
    };
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const px = event.clientX - box.left, py = box.bottom - event.clientY;
      let best = -1, least = Infinity;
      marks.forEach(([x, y, , slice], i) => {
        if (hidden.has(slice)) return;
        const dx = (x * box.width) / 100 - px, dy = flat ? 0 : (y * box.height) / 100 - py;
        if (dx * dx + dy * dy < least) { best = i; least = dx * dx + dy * dy; }
      });
      point(best);
    });
    plot.addEventListener("pointerleave", () => point(-1));
    plot.addEventListener("blur", () => point(-1));
    plot.addEventListener("keydown", (event) => {
      const keys = {
        ArrowRight: () => step(at, 1),
        ArrowLeft: () => step(at < 0 ? marks.length : at, -1),
        Home: () => step(-1, 1),
        End: () => step(marks.length, -1),
        Escape: () => point(-1),
      };
      if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
    });
    for (const button of all("[data-pick]", chart)) {
      button.addEventListener("click", () => {
        chart.dataset.current = button.dataset.pick;
        all("[data-pick]", chart).forEach((b) => b.setAttribute("aria-pressed", b === button));
      });
    }
  }

  addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));

  const digits = (value) => {
    if (value && (value < 1e-4 || value >= 1e6)) {
      const [head, power] = value.toExponential(2).split("e");
      return `${Number(head)}×10${[...power].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? { "-": "⁻", "+": "" }[c]).join("")}`;
    }
    return value.toLocaleString("en", { maximumSignificantDigits: Math.max(3, Math.ceil(Math.log10(value || 1))) });
  };
  const sum = (slices, name) => slices.reduce((total, slice) => total + slice[name], 0);
  const summary = () => {
    const shown = live.slices.filter((slice, i) => !hidden.has(i) && slice.rows);
    const rows = sum(shown, "rows"), squares = sum(shown, "squares"), whole = sum(live.slices, "squares");
    if (!rows) return "No row is shown.";
    const against = sum(shown, "mean"), ratio = against ? `, ${digits((100 * squares) / against)}% of predicting the mean` : "";
    const share = whole ? `; ${digits((100 * squares) / whole)}% of all squared error` : "";
    return `${rows.toLocaleString("en")} rows, MSE ${digits(squares / rows)}${ratio}${share}`;
  };
  const wanted = { all: () => true, rare: (slice) => slice.rare, common: (slice) => !slice.rare };
  const matches = (name) => live.slices.every((slice, i) => !slice.held || hidden.has(i) !== wanted[name](slice));
  const apply = () => {
    all("[data-slice]").forEach((part) => part.classList.toggle("off", hidden.has(Number(part.dataset.slice))));
    all("[data-toggle]").forEach((b) => b.setAttribute("aria-pressed", !hidden.has(Number(b.dataset.toggle))));
    all("[data-show]").forEach((b) => b.setAttribute("aria-pressed", matches(b.dataset.show)));
    const shown = document.getElementById("shown");
    if (shown) shown.textContent = summary();
  };
  for (const button of all("[data-show]")) {
    button.addEventListener("click", () => {
      hidden.clear();
      live.slices.forEach((slice, i) => wanted[button.dataset.show](slice) || hidden.add(i));
      apply();
    });
  }
  for (const button of all("[data-toggle]")) {
    const slice = Number(button.dataset.toggle);
    button.addEventListener("click", () => { hidden.delete(slice) || hidden.add(slice); apply(); });
  }
  apply();

  const read = (row, column) => {
    const text = row.cells[column].dataset.value ?? "";
    return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
  };
  const order = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = all("tbody tr", table);
        rows.sort((a, b) => (up ? 1 : -1) * order(read(a, column), read(b, column)));
        table.tBodies[0].append(...rows);
      });
    });
  }
})();
