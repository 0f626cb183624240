"use strict";
/* Sorts and copies the tables of a report. It reads and moves text, and never makes markup of any. */
(() => {
  const make = (tag, text, properties) => Object.assign(document.createElement(tag), { textContent: text }, properties);
  const clean = (cell) => cell.textContent.replace(/\u00a0/g, " ").trim();
  const grouped = /^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$/;
  const number = (text) => parseFloat(text.replace(/,/g, ""));
  const words = new Intl.Collator("en", { numeric: true });

  const compare = (numeric, down) => (a, b) => {
    if (!numeric) return words.compare(a.key, b.key) * (down ? -1 : 1);
    const x = number(a.key), y = number(b.key);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return down ? y - x : x - y;
  };

  const forms = {
    CSV: (rows) => rows.map((row) => row.map((text) => {
      let said = grouped.test(text) ? text.replace(/,/g, "") : text;
      if (/^[=+@-]/.test(said) && Number.isNaN(Number(said.split(" ")[0].replace("%", "")))) said = "'" + said;
      return /[",\r\n]/.test(said) ? '"' + said.replace(/"/g, '""') + '"' : said;
    }).join(",")).join("\n"),
    LaTeX: (rows, right) => {
      const special = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "–": "--" };
      const safe = (text) => text.replace(/[\\~^–&%$#_{}]/g, (c) => special[c] || "\\" + c);
      const [head, ...body] = rows.map((row) => row.map(safe).join(" & ") + " \\\\");
      const columns = right.map((n) => (n ? "r" : "l")).join("");
      return ["\\begin{tabular}{" + columns + "}", "\\toprule", head, "\\midrule", ...body, "\\bottomrule", "\\end{tabular}"].join("\n");
    },
    Markdown: (rows, right) => {
      const safe = (text) => text.replace(/[\\`*_{}[\]<>|$&]/g, "\\$&").replace(/\s+/g, " ");
      const [head, ...body] = rows.map((row) => "| " + row.map(safe).join(" | ") + " |");
      return [head, "|" + right.map((n) => (n ? " --: |" : " --- |")).join(""), ...body].join("\n");
    },
  };

  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const box = document.body.appendChild(make("textarea", text, { readOnly: true }));
      box.select();
      const done = document.execCommand("copy");
      box.remove();
      return done;
    }
  };

  for (const table of document.querySelectorAll("figure.table table")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0], given = [...body.rows];
    const right = heads.map((head) => head.classList.contains("n"));
    const few = Number(table.dataset.rows), tools = make("p", "", { className: "tools" });
    let all = given.length <= few;
    const show = (rows) => {
      rows.forEach((row, at) => { row.hidden = !all && at >= few; });
      body.replaceChildren(...rows);
    };
    const sort = (column) => {
      const now = heads[column].getAttribute("aria-sort"), first = right[column] ? "descending" : "ascending";
      const next = !now ? first : now === first ? (right[column] ? "ascending" : "descending") : null;
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      if (next) heads[column].setAttribute("aria-sort", next);
      const keyed = given.map((row) => ({ row, key: clean(row.cells[column]) }));
      show(next ? keyed.sort(compare(right[column], next === "descending")).map((x) => x.row) : given);
    };
    if (given.length > 1 && heads.every(clean)) heads.forEach((head, column) => {
      const button = make("button", "", { type: "button", className: "sort" });
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(column));
      head.append(button);
    });
    if (!all) {
      const button = make("button", table.dataset.all || `Show all ${given.length.toLocaleString("en")} rows`, { type: "button" });
      button.addEventListener("click", () => { all = true; show([...body.rows]); button.remove(); });
      tools.append(button);
    }
    const said = make("span", "");
    said.setAttribute("role", "status");
    tools.append(make("span", "Copy as"));
    for (const [name, form] of Object.entries(forms)) {
      const button = make("button", name, { type: "button" });
      button.addEventListener("click", async () => {
        const rows = [heads, ...[...body.rows].map((row) => [...row.cells])].map((row) => row.map(clean));
        said.textContent = (await copied(form(rows, right))) ? `${rows.length - 1} rows copied` : "The browser refused.";
      });
      tools.append(button);
    }
    tools.append(said);
    table.closest("figure").append(tools);
  }
})();
