from django.apps import AppConfig


class OperatorsConfig(AppConfig):
    name = "webapp.operators"
    label = "operators"
