# Ends a controller and starts it again: restart.sh FOLDER PARENT LIST COMMAND...
#
# FOLDER/pid has the identifier of the controller's process. If the command ends with the name of
# the file LIST, the controller starts when the probe has written that file, which it does before
# each trial as soon as its switches listen. The controller also ends with the process PARENT, and
# when FOLDER is removed.
folder=$1 parent=$2 list=$3
shift 3
if [ -e "$folder/pid" ]; then
    old=$(cat "$folder/pid")
    kill -9 "$old" 2>/dev/null
    while kill -0 "$old" 2>/dev/null; do sleep 0.05; done
    rm -f "$folder/pid"
fi
rm -f "$list"
echo $$ >"$folder/start"
# Another start of the controller ends this one.
is_current() { [ "$(cat "$folder/start" 2>/dev/null)" = $$ ] && kill -0 "$parent" 2>/dev/null; }
(
    for last; do :; done
    while [ "$last" = "$list" ] && [ ! -s "$list" ]; do
        is_current || exit
        sleep 0.05
    done
    "$@" &
    controller=$!
    echo "$controller" >"$folder/pid"
    while kill -0 "$controller" 2>/dev/null && is_current; do sleep 0.2; done
    kill -9 "$controller" 2>/dev/null
    wait
) >"$folder/log" 2>&1 </dev/null &
