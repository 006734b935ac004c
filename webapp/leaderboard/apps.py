from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    name = "webapp.leaderboard"
    label = "leaderboard"

    def ready(self) -> None:
        from webapp.leaderboard.topics import register_topics

        register_topics()
