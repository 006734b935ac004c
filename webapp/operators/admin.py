from django.contrib import admin

from webapp.operators.models import Operator

admin.site.register(Operator)
