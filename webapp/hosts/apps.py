from django.apps import AppConfig


class HostsConfig(AppConfig):
    name = "webapp.hosts"
    label = "hosts"

    def ready(self) -> None:
        from webapp.hosts.topics import register_topics

        register_topics()
