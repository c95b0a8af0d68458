# SPDX-License-Identifier: GPL-2.0-only
"""MariaDB: a server of this test's own, loaded through its own client.

Its data lie in the test's folder. It listens on a Unix socket there and
nowhere else, and is shut down by its client, or dies with the test.
"""

import os
import shutil
import subprocess
import time

import system
from programs import Program

CLIENTS = 6
ROUNDS = 40
ROWS = 8
LIMIT = 240
START_SECONDS = 120
#: Relative to the data, where all run: a socket's name must be short.
SOCKET = "--socket=sock"
CLIENT = ("mariadb", "--no-defaults", SOCKET, "-N", "--user=root")

SCHEMA = f"""
CREATE DATABASE ranch;
USE ranch;
CREATE TABLE cattle (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB;
INSERT INTO cattle SELECT seq, 0 FROM seq_1_to_{ROWS};
CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, who INT, what INT)
    ENGINE=InnoDB;
"""


def transactions(client):
    """What one client does: rows are locked in order, so none deadlocks."""
    for turn in range(ROUNDS):
        row = (client * 3 + turn) % ROWS + 1
        yield "BEGIN;"
        for number in sorted({row, row * 5 % ROWS + 1}):
            yield (f"SELECT n * 0 FROM cattle WHERE id = {number}"
                   " FOR UPDATE;"
                   f" UPDATE cattle SET n = n + 1 WHERE id = {number};")
        yield f"INSERT INTO log (who, what) VALUES ({client}, {row});"
        yield "COMMIT;"
        if turn % 8 == client % 8:
            yield ("SELECT GET_LOCK('gate', 100); SELECT SLEEP(0.002);"
                   " SELECT RELEASE_LOCK('gate');")
    yield f"SELECT who, what FROM log WHERE who = {client} ORDER BY id;"


class MariaDB(Program):
    """Clients that lock the same rows; what they see and what is left."""
    name = "mariadb"
    packages = ("mariadb-server-core", "mariadb-client-core")
    commands = ("mariadbd", "mariadb", "mariadb-install-db")

    def prepare(self, folder):
        """An empty database, and one script for each client."""
        self._empty = os.path.join(folder, "empty")
        subprocess.run(
            system.mariadb_install(self._empty), check=True, timeout=LIMIT,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT)
        self._scripts = []
        for client in range(CLIENTS):
            path = os.path.join(folder, f"client{client}.sql")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(transactions(client)))
            self._scripts.append(path)
        self._schema = os.path.join(folder, "schema.sql")
        with open(self._schema, "w", encoding="utf-8") as file:
            file.write(SCHEMA)

    def run(self, place):
        shutil.copytree(self._empty, place.folder, dirs_exist_ok=True)
        server = place.start(
            [system.have("mariadbd"), "--no-defaults", *system.mariadb_user(),
             f"--datadir={place.folder}", SOCKET, "--skip-networking",
             "--skip-log-bin", "--thread-handling=pool-of-threads",
             "--thread-pool-size=4", "--innodb-buffer-pool-size=32M",
             "--innodb-lock-wait-timeout=200", "--pid-file=pid"],
            output="server")
        if not self._answers(place, server):
            return {"server: exit status": f"no answer; {server.poll()}",
                    "server: errors": place.read("server.errors")}
        results = self._client(place, "schema", stdin=self._schema)
        results.update(self._load(place))
        results.update(self._client(
            place, "rows", "-e", "SELECT * FROM ranch.cattle ORDER BY id;"
            "SELECT COUNT(*), SUM(who), SUM(what) FROM ranch.log;"
            "CHECK TABLE ranch.cattle, ranch.log EXTENDED;"))
        results["in the server"] = self._preloaded(server, place)
        results.update(self._client(place, "shutdown", "-e", "SHUTDOWN"))
        results["server: exit status"] = place.wait(server, LIMIT)
        return results

    def _client(self, place, output, *arguments, stdin=None):
        return place.run([*CLIENT, *arguments], LIMIT, stdin, output)

    def _answers(self, place, server):
        """Wait until the server answers; or has ended, and never will."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and server.poll() is None:
            answer = self._client(place, "ping", "-e", "SELECT 1")
            if answer["ping: exit status"] == 0:
                return True
            time.sleep(0.05)        # not to ask all the time
        return False

    def _load(self, place):
        """All clients at once."""
        clients = [place.start([*CLIENT, "ranch"], script, f"client{number}")
                   for number, script in enumerate(self._scripts)]
        results = {}
        for number, client in enumerate(clients):
            name = f"client{number}"
            results[f"{name}: exit status"] = place.wait(client, LIMIT)
            results[name] = place.read(name)
            results[f"{name}: errors"] = place.read(f"{name}.errors")
        return results

    @staticmethod
    def _preloaded(server, place):
        """Is the drop-in mapped there, as it should or should not be?"""
        try:
            with open(f"/proc/{server.pid}/maps", encoding="utf-8") as file:
                found = "libdrover-pthread" in file.read()
        except OSError as error:
            return str(error)
        return found == place.has_library


PROGRAMS = (MariaDB(),)
