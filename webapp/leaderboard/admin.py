from django.contrib import admin

from webapp.leaderboard.models import Board

admin.site.register(Board)
