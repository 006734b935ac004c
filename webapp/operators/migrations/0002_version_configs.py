"""A version keeps the knobs that were set by hand."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("operators", "0001_initial")]

    operations = [
        migrations.AddField(model_name="version", name="configs", field=models.JSONField(default=dict)),
    ]
