"""What axe-core finds on a page.

axe-core (https://github.com/dequelabs/axe-core) looks for what keeps people from using
a page: text too pale to be read, controls without a name, parts that no key reaches.
"""

from __future__ import annotations

import os

from playwright.sync_api import Page

try:
    from axe_playwright_python.base import AXE_SCRIPT as _SCRIPT
except ModuleNotFoundError:
    if "CI" in os.environ:  # it decides what may land, so it leaves nothing out
        raise
    _SCRIPT = ""

#: axe-core, for `page.evaluate`; empty where it is not installed.
AXE_SCRIPT: str = _SCRIPT

RUN = """async ([root, only]) => {
  const options = { resultTypes: ['violations'] };
  if (only) options.runOnly = [only];
  const { violations } = await axe.run(root, options);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) => nodes.map(({ target, html, failureSummary }) =>
      ({ rule: id, help, selector: target.join(' '), html, summary: failureSummary })));
}"""


def violations(page: Page, root: str, when: str, only: str | None = None) -> list[str]:
    """What axe-core finds below `root`; by all its rules, or by one."""
    return [
        f"{when}: {found['rule']}: {found['help']}\n    {found['selector']}\n"
        f"    {found['html'][:200]}\n    {found['summary']}"
        for found in page.evaluate(RUN, [root, only])
    ]
