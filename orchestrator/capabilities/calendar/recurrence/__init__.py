"""When things come due: cron expressions, repetition rules, time zones, iCalendar text, and the words for all of it.
Pure."""
