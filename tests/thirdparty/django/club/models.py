"""What the club keeps."""

from django.db import models


class Team(models.Model):
    """A team."""

    name = models.CharField(max_length=50)

    def __str__(self):
        return self.name


class Member(models.Model):
    """Somebody of a team, with the day since when and a paper."""

    name = models.CharField(max_length=50)
    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    since = models.DateField()
    paper = models.FileField(upload_to="papers", blank=True)

    class Meta:
        """In order."""

        ordering = ("name",)

    def __str__(self):
        return self.name
