"""Campaigns: many runs of many configurations, stored; on one machine or a cluster."""

from .campaign import Campaign, read_campaign
from .spec import Configuration, Instance

__all__ = ["Campaign", "Configuration", "Instance", "read_campaign"]
