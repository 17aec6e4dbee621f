"""Its pages."""

from django.contrib import admin
from django.http import HttpResponse

from club.models import Member, Team


@admin.action(description="Save selected members as a table")
def save_table(modeladmin, request, queryset):
    """A file to be downloaded."""
    lines = ["name,team,since", *(f"{one.name},{one.team},{one.since}" for one in queryset)]
    answer = HttpResponse("\n".join(lines), content_type="text/csv")
    answer["Content-Disposition"] = 'attachment; filename="members.csv"'
    return answer


@admin.register(Member)
class MemberAdmin(admin.ModelAdmin):
    """Members."""

    list_display = ("name", "team", "since", "paper")
    search_fields = ("name",)
    actions = (save_table,)


admin.site.register(Team)
