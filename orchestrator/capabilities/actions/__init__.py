"""What an agent asks for, as data: the ``fields`` of an action, the kinds of value that they have (``field_types``,
``json_schema``), how both forms are read (``parse``) and written (``format``). All of it is pure."""
