// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

/// The looks of the HTML report: for light and dark screens, for wide and narrow ones, for paper.
/// Its filters are radio buttons that hide rows of the tables behind them; no script is needed.
inline constexpr std::string_view html_style = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #1b1f24; --weak: #59626d; --line: #d8dde3;
  --good: #1a7f37; --good-back: #dcf5e3; --bad: #b42318; --bad-back: #fde5e2;
  --odd: #8a5a00; --odd-back: #fcefd2; --none: #59626d; --none-back: #e9ecf0; --code: #f0f2f5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #101317; --card: #191d23; --text: #e6e9ed; --weak: #9aa4b0; --line: #323a44;
    --good: #6fdc8c; --good-back: #16331f; --bad: #ff9a8f; --bad-back: #43201d;
    --odd: #f0c36a; --odd-back: #3b2f14; --none: #a9b3be; --none-back: #2a3038; --code: #12161b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem clamp(.75rem, 3vw, 2rem) 4rem; max-width: 76rem;
  background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere;
}
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .5rem; }
code, pre { font: .875em/1.45 ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace; }
pre {
  background: var(--code); border: 1px solid var(--line); border-radius: 6px;
  margin: .4rem 0; padding: .5rem .7rem; white-space: pre-wrap; max-height: 28rem; overflow: auto;
}
.verdict { border-left: 6px solid; border-radius: 6px; padding: .75rem 1rem; font-weight: 600; }
.verdict.good { color: var(--good); background: var(--good-back); }
.verdict.bad { color: var(--bad); background: var(--bad-back); }
dl { display: grid; grid-template-columns: 9rem 1fr; gap: .25rem 1rem; margin: 1rem 0; }
dt { color: var(--weak); }
dd { margin: 0; }
.weak { color: var(--weak); }
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .85rem 1rem; margin: .75rem 0;
}
.card.bad { border-left: 6px solid var(--bad); }
.card.odd { border-left: 6px solid var(--odd); }
.card > p { margin: 0 0 .25rem; }
.id { font-weight: 700; margin-right: .5rem; }
.card ul { list-style: none; margin: .6rem 0 0; padding: 0; }
.card > ul:first-child { margin: 0; }
.card > ul:first-child > li:first-child { border: 0; padding-top: 0; }
.card li { border-top: 1px solid var(--line); padding: .5rem 0; }
.card li:last-child { padding-bottom: 0; }
.found { margin: .15rem 0 0; white-space: pre-wrap; }
details > summary { cursor: pointer; }
details > p.weak { font-size: .875rem; margin: .4rem 0 0; }
details > pre { margin-top: .2rem; }
.mark {
  display: inline-block; padding: .05rem .55rem; border-radius: 999px; white-space: nowrap;
  font-size: .8rem; font-weight: 600; color: var(--none); background: var(--none-back);
}
.good > td > .mark { color: var(--good); background: var(--good-back); }
.bad > td > .mark { color: var(--bad); background: var(--bad-back); }
.odd > td > .mark { color: var(--odd); background: var(--odd-back); }
.filter > input { position: absolute; opacity: 0; pointer-events: none; }
.filter > label {
  display: inline-block; padding: .15rem .7rem; margin: 0 .2rem .4rem 0; cursor: pointer;
  border: 1px solid var(--line); border-radius: 999px; background: var(--card); font-size: .875rem;
}
.filter > input:checked + label { background: var(--text); color: var(--page); }
.filter > input:focus-visible + label { outline: 2px solid var(--odd); outline-offset: 2px; }
table {
  width: 100%; border-collapse: collapse; background: var(--card);
  border: 1px solid var(--line); border-radius: 8px;
}
th, td {
  text-align: left; vertical-align: top; padding: .4rem .7rem; border-top: 1px solid var(--line);
}
thead th {
  border-top: 0; color: var(--weak); font-weight: 600; font-size: .875rem; white-space: nowrap;
}
td.short { white-space: nowrap; width: 1%; }
td.long { width: 20%; }
td.number { text-align: right; white-space: nowrap; width: 1%; font-variant-numeric: tabular-nums; }
td.rules { width: 18%; font-size: .875rem; color: var(--weak); }
#r-broken:checked ~ div tbody tr:not(.broken),
#r-expected:checked ~ div tbody tr:not(.expected),
#r-kept:checked ~ div tbody tr:not(.kept),
#r-not_judged:checked ~ div tbody tr:not(.not_judged),
#t-passed:checked ~ div tbody tr:not(.passed),
#t-failed:checked ~ div tbody tr:not(.failed),
#t-expected_failure:checked ~ div tbody tr:not(.expected_failure),
#t-unexpected_pass:checked ~ div tbody tr:not(.unexpected_pass),
#t-unsupported:checked ~ div tbody tr:not(.unsupported),
#t-not_applicable:checked ~ div tbody tr:not(.not_applicable),
#t-blocked:checked ~ div tbody tr:not(.blocked),
#t-kit_error:checked ~ div tbody tr:not(.kit_error) { display: none; }
@media (max-width: 44rem) {
  body { font-size: 15px; }
  dl { grid-template-columns: 6.5rem 1fr; gap: .2rem .75rem; }
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { border-top: 1px solid var(--line); padding: .5rem .7rem; }
  tbody tr:first-child { border-top: 0; }
  td, td.short, td.long, td.number, td.rules {
    border: 0; padding: .1rem 0; width: auto; text-align: left; white-space: normal;
  }
  td.short, td.long, td.number, td.rules { display: inline-block; margin-right: .75rem; }
  td.number { color: var(--weak); font-size: .875rem; }
  td[data-name]::before { content: attr(data-name) " "; }
}
@media print {
  body { max-width: none; }
  .filter > label { display: none; }
  pre { max-height: none; }
}
)css";

}}}  // namespace tenon::TENON_RELEASE::conformance::detail
