/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `optune report`: what #data says, drawn. Texts of records are set as text, never as
 * markup. Each canvas says in data-marks how many marks it has. */
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const drawn = []; /* { canvas, make }: drawn again when the colours change */
const palette = ['#4477aa', '#ee6677', '#228833', '#bb9911', '#44aacc', '#aa3377', '#888888', '#dd7733'];
const known = (x) => typeof x === 'number' && isFinite(x);

/* ---- words ---- */

function time(seconds) {
  if (!known(seconds)) return '-';
  const unit = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']].find((u) => Math.abs(seconds) >= u[0]) || [1e-9, 'ns'];
  return Number((seconds / unit[0]).toPrecision(4)) + ' ' + unit[1];
}

function rate(perSecond, unit) {
  const k = perSecond >= 1e12 ? [1e12, 'T'] : perSecond >= 1e9 ? [1e9, 'G'] : [1e6, 'M'];
  return Number((perSecond / k[0]).toPrecision(3)) + ' ' + k[1] + unit;
}

function short(text, n) {
  return text.length > n ? text.slice(0, n - 1) + '…' : text;
}

/* The shapes of a call: without its operator, and what says the most first. */
const label = (call) => call.replace(/const |f32(?=\[)/g, '');
const configText = (values) => Object.entries(values).map(([k, v]) => k + '=' + v).join(' ');

/* ---- elements ---- */

function element(tag, parent, text, name) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  if (parent) parent.append(e);
  return e;
}

function table(parent, heads, rows) {
  const t = element('table', element('div', parent, undefined, 'table'));
  const head = element('tr', element('thead', t));
  heads.forEach((h) => element('th', head, h));
  const body = element('tbody', t);
  for (const row of rows) {
    const tr = element('tr', body, undefined, row.chosen ? 'chosen' : '');
    row.cells.forEach((c) => element('td', tr, String(c),
      /^[-\d.]+( (s|ms|µs|ns|%)| × .*)?$/.test(c) ? 'number' : 'text'));
  }
}

/* ---- charts ---- */

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function countMarks(chart) {
  let marks = 0;
  const area = chart.chartArea;
  chart.data.datasets.forEach((set, i) => {
    for (const mark of chart.getDatasetMeta(i).data)
      if (!mark.skip && isFinite(mark.x) && isFinite(mark.y) &&
          mark.x >= area.left - 2 && mark.x <= area.right + 2 && mark.y >= area.top - 2 && mark.y <= area.bottom + 2)
        marks++;
  });
  return marks;
}

/* As Chart.js makes them, but a broad line's box has no broad border. */
const legend = (chart) => Chart.defaults.plugins.legend.labels.generateLabels(chart).map((l) => Object.assign(l, { lineWidth: 1 }));

function draw(entry) {
  if (entry.chart) entry.chart.destroy();
  Chart.defaults.color = color('--text');
  Chart.defaults.borderColor = color('--line');
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const config = entry.make();
  config.options = Object.assign({ animation: false, responsive: true, maintainAspectRatio: false }, config.options);
  config.options.plugins = Object.assign({ legend: { labels: { boxWidth: 12, generateLabels: legend } } }, config.options.plugins);
  entry.chart = new Chart(entry.canvas, config);
  entry.canvas.dataset.marks = countMarks(entry.chart);
}

function figure(parent, title, caption, make, height, wide) {
  const f = element('figure', parent, undefined, wide ? 'wide' : '');
  element('h3', f, title);
  const box = element('div', f, undefined, 'plot');
  if (height) box.style.height = height + 'px';
  const canvas = element('canvas', box);
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', title + ': ' + caption);
  element('figcaption', f, caption);
  const entry = { canvas, make };
  drawn.push(entry);
  draw(entry);
  return entry;
}

const axis = (title, more) => Object.assign({ title: { display: true, text: title } }, more);
const log = (title, format) => axis(title, { type: 'logarithmic', ticks: { callback: sparse(format), maxRotation: 0, autoSkipPadding: 14 } });

/* Of a logarithmic axis the 1, 2 and 5 of each decade are enough. */
function sparse(format) {
  return (value) => {
    const lead = value / 10 ** Math.floor(Math.log10(value) + 1e-9);
    return [1, 2, 5].some((n) => Math.abs(lead - n) < 0.01) ? format(value) : '';
  };
}

/* Ticks at 0 .. n-1 that are called by name. */
const named = (names, more) => Object.assign({
  type: 'linear', min: -0.6, max: names.length - 0.4, afterBuildTicks: (a) => { a.ticks = names.map((_, i) => ({ value: i })); },
  ticks: { autoSkip: false, callback: (v) => short(String(names[v]), 18) }, grid: { display: false } }, more);

const points = (name, at, i, more) => Object.assign({
  label: name, data: at, backgroundColor: palette[i % palette.length] + 'bb', borderColor: palette[i % palette.length],
  pointRadius: 3, borderWidth: 1 }, more);
const tip = (text) => ({ tooltip: { callbacks: { label: text } } });
/* The same each time the page is opened: a place beside the middle, by number. */
const aside = (i, width) => (((i * 0.618034) % 1) - 0.5) * width;

/* ---- one workload ---- */

const fine = (w) => w.trials.filter((t) => known(t.cost));
const colorOf = (w, impl) => w.impls.findIndex((i) => i.name === impl);
const trialTip = (c) => (c.raw.trial
  ? [c.raw.trial.impl + ': ' + time(c.raw.trial.cost), short(configText(c.raw.trial.values), 70)]
  : c.raw.failed ? c.raw.failed.impl + ': ' + c.raw.failed.outcome : c.dataset.label + ': ' + time(c.parsed.y));

function history(w, parent) {
  const ok = fine(w);
  if (!ok.length) return;
  let best = Infinity;
  const falling = [];
  for (const t of ok) {
    best = Math.min(best, t.cost);
    falling.push({ x: t.at, y: best });
  }
  falling.push({ x: w.trials[w.trials.length - 1].at, y: best });
  const failed = w.trials.filter((t) => !known(t.cost)).map((t) => ({ x: t.at, y: best * 0.7, failed: t }));
  const sets = w.impls.map((impl, i) => points(impl.name,
    ok.filter((t) => t.impl === impl.name).map((t) => ({ x: t.at, y: t.cost, trial: t })), i)).filter((s) => s.data.length);
  figure(parent, 'Best so far', 'Each point is a trial; the line is the best up to then. Time is what was spent on this workload: compiling, verifying, measuring.' +
    (failed.length ? ' Crosses below it failed.' : ''), () => ({
    type: 'scatter',
    data: { datasets: [{ label: 'best so far', data: falling, showLine: true, stepped: true, pointRadius: 0, borderWidth: 2,
      borderColor: color('--text'), backgroundColor: color('--text') }].concat(sets,
      failed.length ? [points('failed', failed, 1, { pointStyle: 'crossRot', pointRadius: 4, borderWidth: 1.5 })] : []) },
    options: { scales: { x: axis('seconds spent'), y: log('time of one run', time) }, plugins: tip(trialTip) },
  }), 320, true);
}

function finalists(w, parent) {
  const all = w.trials.filter((t) => t.final && t.samples && t.samples.length).sort((a, b) => a.cost - b.cost).slice(0, 12);
  if (!all.length) return;
  figure(parent, 'Finalists', 'Samples of those measured in turns; the bar is the 95 % interval of the median, the dot the median.', () => ({
    type: 'scatter',
    data: { datasets: [
      { label: '95 % interval', showLine: true, pointRadius: 0, borderWidth: 12, borderColor: color('--mark') + '77', backgroundColor: color('--mark') + '77',
        data: all.flatMap((t, i) => [{ x: i, y: t.low }, { x: i, y: t.high }, { x: NaN, y: NaN }]) },
      { label: 'median', data: all.map((t, i) => ({ x: i, y: t.cost, trial: t })), pointRadius: 3, backgroundColor: color('--text'), borderColor: color('--text') },
      points('samples', all.flatMap((t, i) => t.samples.map((s, k) => ({ x: i + aside(k, 0.5), y: s, trial: Object.assign({}, t, { cost: s }) }))), 1,
        { pointRadius: 2, borderWidth: 0 })] },
    options: { scales: { x: named(all.map((_, i) => i + 1), { title: { display: true, text: 'finalist, numbers as below' } }), y: log('time of one run', time) },
      plugins: tip(trialTip) },
  }));
  return all;
}

function effects(w, parent) {
  const rows = w.impls.flatMap((impl) => impl.effects.filter((e) => known(e.share)).map((e) => ({ impl: impl.name, knob: e.knob, share: e.share })))
    .sort((a, b) => b.share - a.share).slice(0, 20);
  if (!rows.length) return;
  figure(parent, 'Which knobs matter', 'Share of the variance of log time among an implementation’s trials that the knob’s value explains by itself (omega squared). Searches do not try values evenly.', () => ({
    type: 'bar',
    data: { labels: rows.map((r) => short(r.knob, 18)), datasets: [{ label: 'explained', data: rows.map((r) => 100 * r.share),
      minBarLength: 2, backgroundColor: rows.map((r) => palette[colorOf(w, r.impl) % palette.length]) }] },
    options: { indexAxis: 'y', scales: { x: axis('%', { min: 0, max: 100 }), y: { ticks: { autoSkip: false } } },
      plugins: Object.assign({ legend: { display: false } }, tip((c) => rows[c.dataIndex].impl + ': ' + c.parsed.x.toFixed(1) + ' %')) },
  }), Math.max(160, 70 + 24 * rows.length));
}

function knobChart(w, impl, knob, parent) {
  const of = fine(w).filter((t) => t.impl === impl && knob in t.values);
  const numeric = of.every((t) => typeof t.values[knob] === 'number');
  const names = [...new Set(of.map((t) => t.values[knob]))].sort(numeric ? (a, b) => a - b : undefined);
  if (names.length < 2) return false;
  const best = names.map((n, i) => ({ x: i, y: Math.min(...of.filter((t) => t.values[knob] === n).map((t) => t.cost)) }));
  figure(parent, knob, impl + ': time of each trial by the value of ' + knob + '; the line joins the best of each.', () => ({
    type: 'scatter',
    data: { datasets: [{ label: 'best', data: best, showLine: true, pointRadius: 4, borderColor: color('--text'), backgroundColor: color('--text'), borderWidth: 1.5 },
      points('trials', of.map((t, k) => ({ x: names.indexOf(t.values[knob]) + aside(k, 0.3), y: t.cost, trial: t })), colorOf(w, impl))] },
    options: { scales: { x: named(names), y: log('time of one run', time) }, plugins: tip(trialTip) },
  }), 230);
  return true;
}

function knobs(w, parent) {
  const impls = w.impls.map((i) => i.name).filter((name) => {
    const of = fine(w).filter((t) => t.impl === name);
    return of.length > 2 && Object.keys(of[0].values).some((k) => new Set(of.map((t) => t.values[k])).size > 1);
  });
  if (!impls.length) return;
  const line = element('p', parent, 'Time by each knob of ');
  const select = element('select', line);
  select.setAttribute('aria-label', 'implementation');
  impls.forEach((name) => { element('option', select, name).value = name; });
  if (impls.includes(w.selection.impl)) select.value = w.selection.impl;
  const grid = element('div', parent, undefined, 'grid');
  const fill = () => {
    for (const entry of drawn.filter((d) => grid.contains(d.canvas))) {
      entry.chart.destroy();
      drawn.splice(drawn.indexOf(entry), 1);
    }
    grid.replaceChildren();
    const all = new Set(fine(w).filter((t) => t.impl === select.value).flatMap((t) => Object.keys(t.values)));
    all.forEach((knob) => knobChart(w, select.value, knob, grid));
  };
  select.onchange = fill;
  fill();
}

function failures(w, parent) {
  const kinds = Object.entries(w.failed).sort((a, b) => b[1].n - a[1].n);
  if (!kinds.length) return;
  figure(parent, 'Failures by kind', kinds.reduce((n, k) => n + k[1].n, 0) + ' of ' + (w.trials.length + w.left_out) + ' trials failed; an example of each kind stands below.', () => ({
    type: 'bar',
    data: { labels: kinds.map((k) => k[0]), datasets: [{ data: kinds.map((k) => k[1].n), backgroundColor: palette[1], maxBarThickness: 26 }] },
    options: { indexAxis: 'y', scales: { x: axis('trials', { min: 0, ticks: { precision: 0 } }) }, plugins: { legend: { display: false } } },
  }), 110 + 30 * kinds.length);
}

function effort(w, parent) {
  const of = w.impls.map((i) => ({ name: i.name, s: w.trials.filter((t) => t.impl === i.name && !t.final && t.seconds > 0).map((t) => t.seconds) }))
    .filter((i) => i.s.length);
  if (!of.length) return;
  figure(parent, 'What a trial took', 'Seconds to compile, verify and measure one candidate, by implementation.', () => ({
    type: 'scatter',
    data: { datasets: of.map((i, k) => points(short(i.name, 30), i.s.map((s, n) => ({ x: s, y: k + aside(n, 0.5) })), colorOf(w, i.name))) },
    options: { scales: { x: log('seconds', time), y: named(of.map((i) => i.name), { reverse: true }) },
      plugins: Object.assign({ legend: { display: false } }, tip((c) => c.dataset.label + ': ' + time(c.parsed.x))) },
  }), 120 + 28 * of.length);
}

/* ---- roofline ---- */

/* The least time: every byte once at the peak's bandwidth, every operation at its rate. 0: unknown. */
function bound(w) {
  const compute = w.units > 0 && data.peak.flops > 0 ? w.flops / (data.peak.flops * w.units) : 0;
  return Math.max(compute, data.peak.bandwidth > 0 ? w.bytes / data.peak.bandwidth : 0);
}

/* `marks`: { name, w, cost }, one dataset for each name. */
function roofline(parent, marks, caption) {
  const { flops, bandwidth } = data.peak;
  marks = marks.filter((m) => known(m.cost) && m.w.flops > 0 && m.w.bytes > 0);
  if (!(flops > 0) || !(bandwidth > 0) || !marks.length) return;
  const ridge = flops / bandwidth;
  const xs = marks.map((m) => m.w.flops / m.w.bytes);
  const low = Math.min(ridge, ...xs) / 4, high = Math.max(ridge, ...xs) * 4;
  const names = [...new Set(marks.map((m) => m.name))];
  figure(parent, 'Roofline', caption + ' Measured peak: ' + rate(flops, 'FLOP/s') + ', ' + rate(bandwidth, 'B/s') +
    (data.peak.settled ? '' : ', on a shared machine') + '. Points above it do fewer operations than counted, or find their data in caches.', () => ({
    type: 'scatter',
    data: { datasets: [{ label: 'peak', showLine: true, pointRadius: 0, borderWidth: 2, borderColor: color('--text'), backgroundColor: color('--text'),
      data: [{ x: low, y: low * bandwidth }, { x: ridge, y: flops }, { x: high, y: flops }] }].concat(names.map((name, i) =>
      points(short(name, 34), marks.filter((m) => m.name === name).map((m) => ({ x: m.w.flops / m.w.bytes, y: m.w.flops / m.cost, m })), i, { pointRadius: 5 }))) },
    options: { scales: { x: log('operations a byte', (v) => Number(v.toPrecision(2))), y: log('operations a second', (v) => rate(v, '')) },
      plugins: tip((c) => (c.raw.m ? [c.raw.m.name + ': ' + rate(c.parsed.y, 'FLOP/s'), short(label(c.raw.m.w.call), 60)] : c.dataset.label)) },
  }), 320);
}

function bestOfImpls(w) {
  return w.impls.map((impl) => ({ name: impl.name, w, cost: Math.min(...fine(w).filter((t) => t.impl === impl.name).map((t) => t.cost)) }));
}

/* ---- why ---- */

function why(w, parent) {
  const s = w.selection;
  element('h3', parent, 'What is used, and why');
  const tier = { tuned: 'the fastest by current records', unverified: 'the fastest by records that cannot be checked here',
    hinted: 'what a log of others recommends, as nothing usable was measured here',
    plevel: 'the highest priority level, as nothing usable is recorded' }[s.tier] || s.tier;
  const line = element('p', parent);
  element('code', line, s.impl);
  line.append(' ', known(s.cost) && s.tier !== 'plevel' ? time(s.cost) + ', ' : '', tier, '.');
  table(parent, ['implementation', 'level', 'time', '95 % interval', 'standing'], s.candidates.map((c) => ({
    chosen: c.winner,
    cells: [c.impl, c.plevel, c.record ? time(c.record.cost) : '-',
      c.record && c.record.interval ? time(c.record.interval[0]) + ' to ' + time(c.record.interval[1]) : '-',
      [c.standing, c.why, c.stale && c.stale.why, c.failed && c.failed.trials + ' failed' + (c.failed.last ? ': ' + c.failed.last : '')].filter(Boolean).join('; ')] })));
  (s.warnings || []).forEach((text) => element('p', parent, text, 'warning'));
}

function notes(w, parent) {
  if (w.stale) element('p', parent, w.stale + ' records are history and not drawn: ' + (w.stale_why || ''), 'warning');
  if (w.left_out) element('p', parent, 'Of ' + (w.trials.length + w.left_out) + ' trials, ' + w.left_out + ' are not in this file; all that improved on the best are.', 'faint');
  const old = (w.selection.candidates || []).find((c) => c.stale && c.stale.why);
  if (w.trials.length && w.selection.tier === 'plevel' && old)
    element('p', parent, 'Nothing of this is used any more: ' + old.stale.why + '. `optune run` measures what there is now.', 'warning');
  if (!w.trials.length) element('p', parent, 'Nothing was measured; `optune run` does that.', 'warning');
}

function workload(w, parent) {
  notes(w, parent);
  const grid = element('div', parent, undefined, 'grid');
  history(w, grid);
  const last = finalists(w, grid);
  roofline(grid, bestOfImpls(w), 'The best of each implementation.');
  effects(w, grid);
  effort(w, grid);
  failures(w, grid);
  if (last)
    table(parent, ['finalist', 'implementation', 'median', '95 % interval', 'config'], last.map((t, i) => ({
      cells: [i + 1, t.impl, time(t.cost), time(t.low) + ' to ' + time(t.high), configText(t.values)] })));
  const failed = Object.entries(w.failed);
  if (failed.length)
    table(parent, ['failure', 'trials', 'example', 'its message'], failed.map(([kind, f]) => ({ cells: [kind, f.n, f.impl, f.example] })));
  knobs(w, parent);
  why(w, parent);
}

/* ---- all of them ---- */

const tuned = (w) => (known(w.selection.cost) ? w.selection.cost : NaN);

function layers(parent) {
  const graph = data.graph !== null;
  const rows = graph ? data.graph.groups.map((g) => ({ name: g.nodes, w: data.workloads[g.workload] }))
    : data.workloads.map((w) => ({ name: label(w.call), w }));
  const bars = [['default', (w) => w.default && w.default.cost], ['tuned', tuned], ['best library', (w) => w.library && w.library.cost], ['roofline', bound]];
  const sums = bars.map(([name, of]) => [name, rows.map((r) => of(r.w)).filter((c) => known(c) && c > 0)]);
  const total = sums.filter(([, of]) => of.length).map(([name, of]) => name + ' ' + time(of.reduce((a, b) => a + b, 0)) +
    (of.length < rows.length ? ' (' + of.length + ' of ' + rows.length + ')' : ''));
  element('p', parent, total.length ? 'Together: ' + total.join(' · ') : 'No record of these is used as it stands; see below why.');
  if (data.others) element('p', parent, data.others + ' more workloads were measured longer ago and are not in this file: `optune report WORKLOAD...` draws those that are named.', 'faint');
  if (data.unread) element('p', parent, data.unread + ' more workloads cannot be read by the version that wrote this file: ' + data.unread_why, 'faint');
  const l = graph ? data.graph.layouts : null;
  if (l)
    element('p', parent, 'Layouts: ' + l.in_blocks + ' of ' + l.groups + ' groups in ' + l.layout + ', ' + l.transforms + ' transforms of ' + time(l.transforms_s) +
      ' together; in turns the whole took ' + time(l.blocked) + ' so, and ' + time(l.plain) + ' as the model has it' +
      (l.kept ? '. Every figure here, the default too, is of layers in these layouts.' : l.blocked > l.plain ? ': not used.' : '. A kernel has changed since: not used.'));
  const grid = element('div', parent, undefined, 'grid');
  const shown = bars.map(([name, of], i) => ({ label: name, data: rows.map((r) => { const c = of(r.w); return known(c) && c > 0 ? c : null; }),
    backgroundColor: palette[[6, 0, 3, 2][i]], barPercentage: 0.95, categoryPercentage: 0.85 })).filter((s) => s.data.some(known));
  if (shown.length)
    figure(grid, graph ? 'Time by layer' : 'Time by workload', 'Default: what the priority level chooses untuned; roofline: the least that the measured peak allows where data comes from memory; what is in caches may be faster.', () => ({
      type: 'bar',
      data: { labels: rows.map((r) => short(r.name, innerWidth < 600 ? 14 : 44)), datasets: shown },
      options: { indexAxis: 'y', scales: { x: axis('time of one run', { min: 0, ticks: { callback: time, maxRotation: 0, autoSkipPadding: 14 } }), y: { ticks: { autoSkip: false } } },
        plugins: tip((c) => c.dataset.label + ': ' + time(c.parsed.x) + ', ' + short(rows[c.dataIndex].w.selection.impl, 40)) },
    }), 90 + (14 * shown.length + 6) * rows.length, true);
  const spent = new Map();
  for (const r of rows)
    if (known(tuned(r.w))) {
      const to = spent.get(r.w.selection.impl) || { n: 0, cost: 0 };
      spent.set(r.w.selection.impl, { n: to.n + 1, cost: to.cost + tuned(r.w) });
    }
  const where = [...spent].sort((a, b) => b[1].cost - a[1].cost);
  if (where.length)
    figure(grid, 'Where the time goes', 'The tuned time by the implementation that takes it.', () => ({
      type: 'bar',
      data: { labels: where.map((e) => short(e[0], 26)), datasets: [{ data: where.map((e) => e[1].cost), backgroundColor: palette[0], maxBarThickness: 26 }] },
      options: { indexAxis: 'y', scales: { x: axis('time', { min: 0, ticks: { callback: time, maxRotation: 0, autoSkipPadding: 14 } }), y: { ticks: { autoSkip: false } } },
        plugins: Object.assign({ legend: { display: false } }, tip((c) => time(c.parsed.x) + ' in ' + where[c.dataIndex][1].n)) },
    }), 100 + 28 * where.length);
  roofline(grid, data.workloads.flatMap((w) => [{ name: 'default', w, cost: w.default && w.default.cost }, { name: 'tuned', w, cost: tuned(w) },
    { name: 'best library', w, cost: w.library && w.library.cost }]), 'Every distinct workload.');
  table(parent, [graph ? 'layer' : 'workload', 'chosen', 'time', 'over the default', 'over the library', 'by'], rows.map((r) => ({ cells: [r.name, r.w.selection.impl,
    time(tuned(r.w)), ratio(r.w.default, tuned(r.w)), ratio(r.w.library, tuned(r.w)), r.w.selection.tier + (r.w.library ? '; library ' + r.w.library.name : '')] })));
}

function ratio(beside, cost) {
  return beside && known(beside.cost) && known(cost) ? (beside.cost / cost).toFixed(2) + ' ×' : '-';
}

function main() {
  const page = document.getElementById('page');
  const one = data.workloads.length === 1 && data.graph === null;
  const title = data.title || (one ? label(data.workloads[0].call) : data.workloads.length + ' workloads');
  document.title = 'optune: ' + short(title, 80);
  document.getElementById('title').textContent = title;
  document.getElementById('where').textContent = [data.device_name || data.device, data.target, 'policy ' + data.policy,
    new Date(data.time * 1000).toISOString().slice(0, 16).replace('T', ' ') + ' UTC', 'optune ' + data.version].join(' · ');
  document.getElementById('save').href = URL.createObjectURL(new Blob([JSON.stringify(data)], { type: 'application/json' }));
  if (one) {
    if (data.title) element('p', page, data.workloads[0].call);
    return workload(data.workloads[0], page);
  }
  layers(page);
  element('h2', page, 'Each workload');
  for (const w of data.workloads) {
    const box = element('details', page);
    element('summary', box, label(w.call) + ': ' + w.selection.impl + ', ' + time(tuned(w)));
    box.addEventListener('toggle', () => { if (box.open && !box.dataset.done) { box.dataset.done = 1; workload(w, box); } });
    if (location.hash === '#all') box.open = true;
  }
}

main();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawn.forEach(draw));
