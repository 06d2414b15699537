"""The course in other languages: its texts in one catalogue, and translations of it.

Reading order:
    markdown     the texts of a markdown cell
    literals     the texts in Python code
    extracting   all texts of the course, file by file
    catalogs     the template `course.pot`, translations `de.po`, files for kernels
    pseudo       a language to test with: every letter has an accent
    copies       the notebooks in a language, for a learner's folder
    command      `minimx strings`

At run time only `minimx_widgets.language` is needed.
"""
