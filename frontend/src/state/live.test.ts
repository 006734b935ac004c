import { expect, test } from "vitest";
import type { HostList } from "../api/generated.gen";
import { Live, type LiveSocket } from "./live";

class FakeSocket implements LiveSocket {
  onopen: (() => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  readyState = 0;
  sent: { kind: string; topic: string; since?: number }[] = [];

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.drop(1000);
  }
  accept(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  drop(code: number): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

function harness() {
  const sockets: FakeSocket[] = [];
  const waits: { run: () => void; milliseconds: number }[] = [];
  const live = new Live(
    () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    (run, milliseconds) => waits.push({ run, milliseconds }),
  );
  const socket = (place: number): FakeSocket => sockets[place] as FakeSocket;
  return { live, socket, waits };
}

const host = (name: string, running: number) => ({
  name,
  online: true,
  workers: 1,
  running,
  targets: [],
  machine: {},
  last_seen: "2026-01-01T00:00:00Z",
});
const snapshot = (revision: number, items: HostList["items"]) => ({
  kind: "snapshot",
  topic: "hosts",
  revision,
  snapshot: { items },
});

test("reconnects with the revision it holds and waits longer each time", () => {
  const { live, socket, waits } = harness();
  const hosts = live.watch("hosts");
  socket(0).accept();
  expect(socket(0).sent).toEqual([{ kind: "subscribe", topic: "hosts" }]);
  socket(0).say(snapshot(7, [host("a", 0)]));
  expect(hosts.value.snapshot?.items).toHaveLength(1);

  socket(0).drop(1006);
  expect(live.connection.value).toBe("lost");
  waits[0]?.run();
  socket(1).drop(1006);
  waits[1]?.run();
  expect(waits.map((wait) => wait.milliseconds)).toEqual([500, 1000]);
  socket(2).accept();
  expect(socket(2).sent).toEqual([{ kind: "subscribe", topic: "hosts", since: 7 }]);
  expect(hosts.value.snapshot?.items).toHaveLength(1);
});

test("a gap asks for a new snapshot once", () => {
  const { live, socket } = harness();
  const hosts = live.watch("hosts");
  socket(0).accept();
  socket(0).say(snapshot(1, [host("a", 0)]));
  const event = (revision: number) => ({
    kind: "event",
    topic: "hosts",
    revision,
    event: { type: "host_changed", host: host("a", 2) },
  });
  socket(0).say(event(3));
  socket(0).say(event(4));
  expect(socket(0).sent).toEqual([
    { kind: "subscribe", topic: "hosts" },
    { kind: "subscribe", topic: "hosts" },
  ]);
  socket(0).say(snapshot(4, [host("a", 2)]));
  expect(hosts.value.snapshot?.items[0]?.running).toBe(2);
});

test("a page that came with a snapshot subscribes since it; the last holder unsubscribes", () => {
  const { live, socket } = harness();
  socket(0).accept();
  live.watch("hosts", { revision: 5, snapshot: { items: [] } });
  live.watch("hosts");
  expect(socket(0).sent).toEqual([{ kind: "subscribe", topic: "hosts", since: 5 }]);
  live.leave("hosts");
  expect(socket(0).sent).toHaveLength(1);
  live.leave("hosts");
  expect(socket(0).sent.at(-1)).toEqual({ kind: "unsubscribe", topic: "hosts" });
});

test("a socket closed for want of a session is not tried again", () => {
  const { live, socket, waits } = harness();
  socket(0).drop(4401);
  expect(live.connection.value).toBe("signed_out");
  expect(waits).toEqual([]);
});
