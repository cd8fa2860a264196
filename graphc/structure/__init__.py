"""What was declared: rows of operations with names beside them.

Every front end appends rows; every verb reads them. Paths over them are one sweep.
"""
