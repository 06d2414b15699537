"""Sphinx's settings of the static book; see `site_build.py`."""

project = "minimx"
author = "the minimx developers"
html_title = "minimx"
extensions = ["myst_nb"]
html_theme = "sphinx_book_theme"
html_theme_options = {
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "navbar_persistent": [],  # the search field stands in the sidebar
}
# Pages of source are opened from others; the list of all pages beside each of these two
# hundred took half of the time.
html_sidebars = {"source/**": ["navbar-logo.html", "search-button-field.html"]}
html_static_path = ["static"]
html_css_files = ["book.css"]
html_js_files = ["live.js", "turn.js", "glossary-terms.js", "glossary.js"]
html_show_copyright = False
html_copy_source = False
# Outputs are those of the notebooks, which `make test` runs.
nb_execution_mode = "off"
nb_merge_streams = True
# A picture beside a widget is HTML or SVG; both come before plain text.
nb_mime_priority_overrides = [("html", "image/svg+xml", 5), ("html", "text/html", 6)]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_show_search_summary = False  # a page from a file may fetch no other
