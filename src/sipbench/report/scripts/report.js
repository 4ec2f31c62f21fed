"use strict";
/* Sorting, tips, the viewer of attempts, light and dark, and the refresh while a study runs.
   Whatever comes from a record or a log is only ever set as text. */
(() => {
  const root = document.documentElement;
  const live = root.dataset.live !== undefined;
  const byId = (id) => document.getElementById(id);
  const make = (name, text, attributes) => {
    const element = document.createElement(name);
    if (text !== undefined && text !== null) element.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    return element;
  };

  /* Control and direction marks are shown as their codes: what a name looks like is what it is. */
  const MARKS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
  const harmless = (text) =>
    String(text).replace(MARKS, (mark) => "‹" + mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "›");
  const MOST = 20000;
  const cut = (text) => (text.length > MOST ? text.slice(0, MOST) + `\n[... ${text.length - MOST} characters left out ...]` : text);

  /* ---- sorting ---- */
  const sorted = new Map();
  const keyOf = (row, column) => {
    const value = row.cells[column] && row.cells[column].dataset.sort;
    return value === undefined ? null : value;
  };
  function sort(table, column, direction) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, place) => [keyOf(row, column), place, row]);
    const known = rows.filter(([key]) => key !== null);
    const numeric = known.every(([key]) => key.trim() !== "" && Number.isFinite(Number(key)));
    const compare = numeric
      ? (a, b) => Number(a) - Number(b)
      : (a, b) => a.localeCompare(b, "en", { numeric: true });
    rows.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j; /* unknown comes last */
      return direction * compare(a, b) || i - j;
    });
    body.append(...rows.map(([, , row]) => row));
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      if (at === column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    sorted.set(table.id, [column, direction]);
  }
  function prepare() {
    for (const table of document.querySelectorAll("table.sortable")) {
      if (table.tBodies[0].rows.length < 2) continue;
      for (const head of table.tHead.rows[0].cells) {
        if (head.querySelector("button")) continue;
        const button = make("button", head.textContent, { type: "button", class: "sort" });
        head.replaceChildren(button);
      }
      const before = sorted.get(table.id);
      if (before) sort(table, ...before);
    }
  }

  /* ---- attempts ---- */
  let studies = new Map();
  function load() {
    studies = new Map();
    for (const article of document.querySelectorAll("article[data-study]")) {
      const data = JSON.parse(article.querySelector("script.attempts").textContent);
      const position = new Map(data.index.row.map((row, place) => [row, place]));
      studies.set(article.dataset.study, { ...data, position });
    }
  }
  const studyOf = (element) => studies.get(element.closest("article[data-study]").dataset.study);
  const outcome = (study, place) => {
    const score = study.index.score[place];
    const status = study.index.statuses[study.index.status[place]].replaceAll("_", " ");
    return score === null ? status : `${score} (${status})`;
  };
  function placeName(study, place) {
    const { index } = study;
    const task = study.tasks[index.task[place]];
    return `${index.arms[index.arm[place]]}, ${task}, ${index.phases[index.phase[place]]} ${index.splits[index.split[place]]}, repeat ${index.repeat[place]}, attempt ${index.attempt[place]}`;
  }
  function recordIn(study, row) {
    const place = study.records.row.indexOf(row);
    if (place < 0) return null;
    const record = {};
    for (const [name, column] of Object.entries(study.records.columns)) {
      if ("same" in column) record[name] = column.same;
      else if ("values" in column) record[name] = column.values[column.codes[place]];
      else record[name] = column.each[place];
    }
    return record;
  }
  const shown = (value) =>
    value === null ? "–" : typeof value === "object" ? JSON.stringify(value, null, 1) : String(value);
  const FIRST = ["run_id", "task_id", "arm", "phase", "benchmark_split", "repeat", "attempt_index", "status",
    "score", "success", "reward", "error_type", "error_message"];
  function recordTable(record, names) {
    const table = make("table");
    const body = make("tbody");
    for (const name of names) {
      const row = make("tr");
      row.append(make("th", harmless(name), { scope: "row" }));
      const value = record[name];
      const cell = make("td");
      if (value !== null && typeof value === "object") cell.append(make("pre", cut(harmless(shown(value)))));
      else cell.textContent = cut(harmless(shown(value)));
      row.append(cell);
      body.append(row);
    }
    table.append(body);
    return table;
  }
  function logSection(file, open) {
    const details = make("details");
    details.append(make("summary", `${harmless(file.name)} (${file.size.toLocaleString("en")} bytes)`));
    if (file.text !== null && file.text !== undefined) details.append(make("pre", harmless(file.text)));
    else if (open) {
      details.addEventListener("toggle", async () => {
        if (!details.open || details.querySelector("pre")) return;
        const pre = make("pre", "…");
        details.append(pre);
        pre.textContent = harmless(await open(file));
      });
    } else details.append(make("p", "Not in this page: `sip view` shows it.", { class: "note" }));
    return details;
  }
  async function attemptParts(study, row) {
    if (live) {
      const answer = await fetch(`attempt/${study.number}/${row}`);
      if (!answer.ok) return [make("p", await answer.text(), { class: "empty" })];
      const { record, logs } = await answer.json();
      const open = async (file) => {
        const found = await fetch(`log/${study.number}/${row}/${file.place}`);
        return found.text();
      };
      return parts(record, logs, open);
    }
    const record = recordIn(study, row);
    if (record === null) {
      const text = `The record of this attempt is not in this page, to keep it small. \`sip view ${study.folder}\` shows it; it is record ${row + 1} of runs.jsonl.`;
      return [make("p", text, { class: "empty" })];
    }
    return parts(record, study.logs[row] || [], null);
  }
  function parts(record, logs, open) {
    const first = FIRST.filter((name) => name in record);
    const rest = Object.keys(record).sort().filter((name) => !FIRST.includes(name));
    const found = [recordTable(record, first), make("h3", "What the engine left behind")];
    if (!logs.length) found.push(make("p", "No files.", { class: "note" }));
    found.push(...logs.map((file) => logSection(file, open)));
    found.push(make("h3", "The rest of the record; a dash is null, which is unknown or does not apply"));
    return [...found, recordTable(record, rest)];
  }

  /* ---- the viewer ---- */
  const viewer = byId("viewer");
  let back = null;
  function show(title, children, from) {
    byId("viewer-title").textContent = harmless(title);
    byId("viewer-body").replaceChildren(...children);
    back = from || null;
    byId("viewer-back").hidden = !back;
    byId("tip").hidden = true;
    if (!viewer.open) viewer.showModal();
    viewer.scrollTop = 0;
  }
  async function showAttempt(study, row, from) {
    const place = study.position.get(row);
    const title = place === undefined ? `Record ${row + 1}` : placeName(study, place);
    show(title, [make("p", "…")], from);
    show(title, await attemptParts(study, row), from);
  }
  function showTask(study, task) {
    const { index } = study;
    const table = make("table");
    table.className = "sortable";
    table.id = "viewer-attempts";
    const head = make("tr");
    for (const name of ["attempt", "arm", "phase", "split", "repeat", "outcome"]) head.append(make("th", name, { scope: "col" }));
    const top = make("thead");
    top.append(head);
    const body = make("tbody");
    index.row.forEach((row, place) => {
      if (index.task[place] !== task) return;
      const line = make("tr");
      const first = make("th", null, { scope: "row", "data-sort": row });
      const button = make("button", `attempt ${index.attempt[place]}`, { type: "button", class: "link" });
      button.addEventListener("click", () => showAttempt(study, row, () => showTask(study, task)));
      first.append(button);
      line.append(first);
      const arm = index.arms[index.arm[place]];
      const phase = index.phases[index.phase[place]];
      const split = index.splits[index.split[place]];
      const cells = [[arm, arm], [phase, phase], [split, split], [index.repeat[place], index.repeat[place]]];
      for (const [text, key] of [...cells, [outcome(study, place), index.score[place]]]) {
        const cell = make("td", harmless(text));
        if (key !== null) cell.dataset.sort = key;
        line.append(cell);
      }
      body.append(line);
    });
    table.append(top, body);
    const children = [table];
    if (!body.rows.length) children.push(make("p", "None of its attempts is listed in this page.", { class: "note" }));
    else if (study.unlisted) children.push(make("p", `${study.unlisted} attempts of the study are not listed in this page.`, { class: "note" }));
    show(study.tasks[task] || `task ${task}`, children, null);
    prepare();
  }
  byId("viewer-close").addEventListener("click", () => viewer.close());
  byId("viewer-back").addEventListener("click", () => back && back());
  viewer.addEventListener("click", (event) => {
    if (event.target === viewer) viewer.close();
  });

  document.addEventListener("click", (event) => {
    const head = event.target.closest("th button.sort");
    if (head) {
      const cell = head.closest("th");
      const up = cell.getAttribute("aria-sort") === "ascending";
      sort(cell.closest("table"), cell.cellIndex, up ? -1 : 1);
      return;
    }
    const chosen = event.target.closest("[data-row], [data-task]");
    if (!chosen || !chosen.closest("article[data-study]")) return;
    const study = studyOf(chosen);
    if (chosen.dataset.row !== undefined) showAttempt(study, Number(chosen.dataset.row), null);
    else showTask(study, Number(chosen.dataset.task));
  });

  /* ---- tips ---- */
  const tip = byId("tip");
  function tipOf(element) {
    if (element.dataset.tip) return element.dataset.tip;
    if (element.dataset.row === undefined) return "";
    const study = studyOf(element);
    const place = study.position.get(Number(element.dataset.row));
    return place === undefined ? "" : `${placeName(study, place)}: ${outcome(study, place)}`;
  }
  document.addEventListener("mousemove", (event) => {
    const mark = event.target.closest && event.target.closest(".chart [data-tip], .chart [data-row]");
    const text = mark ? tipOf(mark) : "";
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = harmless(text);
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  });

  /* ---- light and dark ---- */
  const theme = byId("theme");
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  label();

  /* ---- refresh ---- */
  async function refresh() {
    const status = byId("live");
    try {
      const answer = await fetch(`state?seen=${encodeURIComponent(root.dataset.live)}`);
      const state = await answer.json();
      status.classList.remove("lost");
      status.textContent = state.text;
      if (state.stamp !== root.dataset.live) await replace(state.stamp);
    } catch {
      status.classList.add("lost");
      status.textContent = "the server is gone";
    }
    setTimeout(refresh, 2000);
  }
  async function replace(stamp) {
    const page = new DOMParser().parseFromString(await (await fetch("./")).text(), "text/html");
    const open = [...document.querySelectorAll("main details[open]")].map((details) => details.id);
    byId("content").replaceWith(page.getElementById("content"));
    root.dataset.live = page.documentElement.dataset.live || stamp;
    for (const id of open) if (id && byId(id)) byId(id).open = true;
    load();
    prepare();
  }

  load();
  prepare();
  if (live) setTimeout(refresh, 1000);
})();
