"""Jobs (what a person asked for), their trials, logs, artifacts and evidence."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from webapp.common.ids import public_id
from webapp.jobs.states import KINDS, QUEUED, TRANSITIONS
from webapp.operators.models import Operator
from webapp.workspaces.models import Workspace


class Job(models.Model):
    """One request for one target. `lease_token` and `lease_until` say which worker may write to it, and how long."""

    id = models.CharField(primary_key=True, max_length=12, default=public_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="jobs")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    operator = models.ForeignKey(Operator, on_delete=models.SET_NULL, null=True, blank=True, related_name="jobs")
    version_number = models.PositiveIntegerField(null=True, blank=True)
    kind = models.CharField(max_length=10, choices=[(kind, kind) for kind in KINDS])
    target = models.CharField(max_length=60)
    title = models.CharField(max_length=160)
    source = models.TextField()
    shapes = models.JSONField(default=dict)
    config = models.JSONField(default=dict)
    options = models.JSONField(default=dict)
    idempotency_key = models.CharField(max_length=80, null=True, blank=True)

    revision = models.PositiveBigIntegerField(default=0)
    state = models.CharField(max_length=10, default=QUEUED, choices=[(state, state) for state in TRANSITIONS])
    cancel_requested = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    lease_token = models.CharField(max_length=32, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    host = models.CharField(max_length=120, blank=True, default="")
    nudges = models.PositiveIntegerField(default=0)
    nudged_at = models.DateTimeField(null=True, blank=True)

    progress_fraction = models.FloatField(default=0.0)
    progress_text = models.CharField(max_length=200, blank=True, default="")
    seconds_left = models.FloatField(null=True, blank=True)
    best_ms = models.FloatField(null=True, blank=True)
    trials_count = models.PositiveIntegerField(default=0)
    log_count = models.PositiveIntegerField(default=0)
    outcome = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    board_id = models.CharField(max_length=12, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["workspace", "idempotency_key", "target"], name="job_asked_once"),
        )
        indexes = (
            models.Index(fields=["workspace", "-created_at"]),
            models.Index(fields=["state", "target", "created_at"]),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Trial(models.Model):
    """One Config and how it did. The index is unique within the job, so a redelivered trial doubles nothing."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="trials")
    index = models.PositiveIntegerField()
    config = models.JSONField(default=dict)
    status = models.CharField(max_length=10)
    median_ms = models.FloatField(null=True)
    low_ms = models.FloatField(null=True)
    high_ms = models.FloatField(null=True)
    samples = models.JSONField(default=list)
    predicted_ms = models.FloatField(null=True)
    error = models.TextField(blank=True, default="")
    strategy = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["job", "index"], name="trial_index_once"),)
        ordering = ("index",)

    def __str__(self) -> str:
        return f"{self.job_id} #{self.index}"


class LogLine(models.Model):
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="log_lines")
    number = models.PositiveIntegerField()
    stream = models.CharField(max_length=4)
    text = models.CharField(max_length=2000)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["job", "number"], name="log_number_once"),)
        ordering = ("number",)

    def __str__(self) -> str:
        return self.text


class Artifact(models.Model):
    """A text a job made; one of each name, the latest wins."""

    id = models.CharField(primary_key=True, max_length=12, default=public_id, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="artifacts")
    kind = models.CharField(max_length=10)
    name = models.CharField(max_length=120)
    digest = models.CharField(max_length=64)
    text = models.TextField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["job", "name"], name="artifact_name_once"),)
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Evidence(models.Model):
    """One fact about one source text: what really ran where. A badge is a query over these rows."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="evidence")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="evidence")
    fact = models.CharField(max_length=10)
    digest = models.CharField(max_length=64, db_index=True)
    target = models.CharField(max_length=60)
    architecture = models.CharField(max_length=60, blank=True)
    toolchain = models.CharField(max_length=120, blank=True)
    device = models.CharField(max_length=160, blank=True)
    workload = models.CharField(max_length=200, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["job", "fact", "digest", "target", "toolchain", "device", "workload"],
                name="evidence_once_per_job",
            ),
        )
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.fact} {self.target}"
