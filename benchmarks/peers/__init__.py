"""What others need for the same site: each script runs in an interpreter that has its library.

Each is given the address of a home page, follows its sections, their list pages and the rows of those, takes title,
date and text of each article, and prints how many pages it read and how many articles it has.
"""
