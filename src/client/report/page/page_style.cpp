#include "client/report/page/page_style.hpp"

namespace dockdist {

const std::string_view page_style = R"(
:root { color-scheme: light dark; --text: #1c2024; --soft: #5b6570; --back: #fff; --line: #d8dee4; --pass: #1a7f37;
  --warn: #8a5a00; --fail: #c2262e; --slow: #d9480f; --one: #0969da; --pair: #8250df; --all: #1a7f37;
  --c0: #0969da; --c1: #d9480f; --c2: #1a7f37; --c3: #8250df; --c4: #b35900; --c5: #0b7285; --c6: #c2255c; --c7: #5c6670; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ec; --soft: #9aa5b1; --back: #14181c; --line: #343c44; --pass: #4cc26a; --warn: #e0a83a;
    --fail: #ff7b72; --slow: #ff922b; --one: #58a6ff; --pair: #bc8cff; --all: #4cc26a;
    --c0: #58a6ff; --c1: #ff922b; --c2: #4cc26a; --c3: #bc8cff; --c4: #e0a83a; --c5: #3bc9db; --c6: #f783ac; --c7: #a9b4bf; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h3 { font-size: .95rem; margin: 0 0 .25rem; }
p { margin: .25rem 0; }
.soft { color: var(--soft); }
.verdict { font-size: 1.1rem; font-weight: 600; }
.pass { color: var(--pass); } .warn { color: var(--warn); } .fail { color: var(--fail); }
.scroll { overflow-x: auto; } .scroll + .scroll { margin-top: 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); font-size: .8rem; white-space: nowrap; }
td.right, th.right { text-align: right; }
table.rows { width: 100%; }
td.state { font-weight: 600; white-space: nowrap; width: 3.5rem; }
td.name { white-space: nowrap; width: 8rem; }
td.found { overflow-wrap: anywhere; }
.hint { color: var(--soft); }
a { color: var(--one); }
table.map { border-collapse: separate; border-spacing: 2px; }
table.map th, table.map td { border: 0; padding: .3rem .4rem; text-align: right; white-space: nowrap; font-size: .8rem; }
table.map td { min-width: 3rem; border-radius: 3px; }
table.map td.slow { outline: 2px solid var(--slow); outline-offset: -1px; font-weight: 700; }
table.map.many td { min-width: 0; padding: .15rem; font-size: .55rem; }
table.map.many th { padding: .15rem; font-size: .55rem; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); } .c3 { stroke: var(--c3); }
.c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); } .c6 { stroke: var(--c6); } .c7 { stroke: var(--c7); }
.legend i.c0 { border-color: var(--c0); } .legend i.c1 { border-color: var(--c1); } .legend i.c2 { border-color: var(--c2); }
.legend i.c3 { border-color: var(--c3); } .legend i.c4 { border-color: var(--c4); } .legend i.c5 { border-color: var(--c5); }
.legend i.c6 { border-color: var(--c6); } .legend i.c7 { border-color: var(--c7); }
table.facts th { padding-right: 1.2rem; font-size: .9rem; }
pre { overflow-x: auto; font-size: .8rem; border-left: 3px solid var(--line); padding: .3rem .6rem; margin: .5rem 0; }
ul { padding-left: 1.2rem; }
summary { font-weight: 600; padding: .4rem 0; cursor: pointer; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1.5rem; }
figure { margin: 0 0 1rem; break-inside: avoid; min-width: 0; }
.maps { display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; }
.maps figure { max-width: 100%; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font-size: 11px; }
.axis { stroke: var(--line); fill: none; }
.curve { fill: none; stroke-width: 2; }
.curve.bf16 { stroke-dasharray: 5 4; }
.one { stroke: var(--one); } .pairs { stroke: var(--pair); } .all { stroke: var(--all); }
.band { fill: var(--one); opacity: .15; stroke: none; }
.legend span { display: inline-block; margin-right: 1.2rem; }
.legend i { display: inline-block; width: 1.6rem; border-top: 2px solid; margin-right: .35rem; vertical-align: middle; }
.legend i.one { border-color: var(--one); } .legend i.pairs { border-color: var(--pair); }
.legend i.all { border-color: var(--all); } .legend i.dashed { border-top-style: dashed; border-color: var(--soft); }
@media (max-width: 40rem) {
  .rows thead { display: none; }
  .rows tr { display: grid; grid-template-columns: 3.5rem 1fr auto; border-bottom: 1px solid var(--line); padding: .35rem 0; }
  .rows td { border: 0; padding: 0 .4rem 0 0; }
  .rows td.found { grid-column: 1 / -1; } }
@media print {
  :root { color-scheme: light; --text: #000; --soft: #444; --back: #fff; --line: #bbb; --pass: #1a7f37; --warn: #8a5a00;
    --fail: #c2262e; --slow: #d9480f; --one: #0969da; --pair: #8250df; --all: #1a7f37;
    --c0: #0969da; --c1: #d9480f; --c2: #1a7f37; --c3: #8250df; --c4: #b35900; --c5: #0b7285; --c6: #c2255c; --c7: #5c6670; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .scroll { overflow: visible; }
  tr, table.map { break-inside: avoid; }
  h2 { break-after: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)";

} // namespace dockdist
