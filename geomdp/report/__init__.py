"""What people read: tables for the terminal (``tables``), and one page for both institutions (``page``)."""

from geomdp.report.tables import data_notes as data_notes
from geomdp.report.tables import opt_table as opt_table
from geomdp.report.tables import outcome_table as outcome_table
from geomdp.report.tables import plan_notes as plan_notes
from geomdp.report.tables import plan_table as plan_table
