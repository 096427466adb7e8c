"""Campaigns: many runs of many configurations, stored; on one machine or a cluster."""

from .spec import Campaign, Configuration, Instance, read_campaign

__all__ = ["Campaign", "Configuration", "Instance", "read_campaign"]
