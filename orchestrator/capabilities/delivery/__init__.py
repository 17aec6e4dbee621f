"""Files that an agent puts into ``out/``, delivered to the person, each once.

``inotify`` and ``watcher`` notice what happens in the folder, ``folder_state`` and ``debounce`` decide when a file is
finished, ``intake`` takes it out (``outbox_folder`` opens it), ``deliveries`` keeps the list that surfaces show, and
``send_file`` is the command by which an agent sends one file with a caption.
"""
