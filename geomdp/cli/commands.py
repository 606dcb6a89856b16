"""Every command, registered with the application."""

from geomdp.cli import assess, inspect, learn, opt, plan, population, power
from geomdp.cli.app import app

__all__ = ["app", "assess", "inspect", "learn", "opt", "plan", "population", "power"]
