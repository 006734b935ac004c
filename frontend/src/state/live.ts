/** The websocket that carries every topic of a page: subscribes, reconnects with `since`, closes gaps. */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { ErrorBody, ServerMessage } from "../api/generated.gen";
import { emptyTopic, reduceTopic, type Snapshots, type TopicKind, type TopicState } from "./topics";

export type Connection = "connecting" | "open" | "lost" | "signed_out";

const SIGNED_OUT = 4401;
const LONGEST_WAIT = 15_000;

export interface LiveSocket {
  onopen: (() => void) | null;
  onclose: ((event: { code: number }) => void) | null;
  onmessage: ((event: { data: string }) => void) | null;
  send(text: string): void;
  close(): void;
  readonly readyState: number;
}

interface Subscription {
  state: Signal<TopicState>;
  refused: Signal<ErrorBody | null>;
  holders: number;
}

export class Live {
  readonly connection = signal<Connection>("connecting");
  private readonly topics = new Map<string, Subscription>();
  private socket: LiveSocket | null = null;
  private attempts = 0;

  constructor(
    private readonly open: () => LiveSocket,
    private readonly later: (run: () => void, milliseconds: number) => void = (run, milliseconds) => {
      setTimeout(run, milliseconds);
    },
  ) {
    this.connect();
  }

  /** The topic's state; subscribes on first use. `start` is a snapshot the page already came with. */
  watch<Kind extends TopicKind>(
    topic: Kind | `${Kind}:${string}`,
    start?: { revision: number; snapshot: Snapshots[Kind] },
  ): ReadonlySignal<TopicState<Snapshots[Kind]>> {
    let held = this.topics.get(topic);
    if (!held) {
      const state: TopicState = start ? { ...start, gap: false } : emptyTopic;
      held = { state: signal(state), refused: signal(null), holders: 0 };
      this.topics.set(topic, held);
      this.subscribe(topic, held.state.value);
    }
    held.holders += 1;
    return held.state as unknown as ReadonlySignal<TopicState<Snapshots[Kind]>>;
  }

  /** The last holder to leave ends the subscription. */
  leave(topic: string): void {
    const held = this.topics.get(topic);
    if (!held) return;
    held.holders -= 1;
    if (held.holders > 0) return;
    this.topics.delete(topic);
    this.say({ kind: "unsubscribe", topic });
  }

  refusal(topic: string): ReadonlySignal<ErrorBody | null> | null {
    return this.topics.get(topic)?.refused ?? null;
  }

  private connect(): void {
    const socket = this.open();
    this.socket = socket;
    socket.onopen = () => {
      this.attempts = 0;
      this.connection.value = "open";
      for (const [topic, held] of this.topics) this.subscribe(topic, held.state.value);
    };
    socket.onmessage = (event) => this.receive(JSON.parse(event.data) as ServerMessage);
    socket.onclose = (event) => {
      this.socket = null;
      if (event.code === SIGNED_OUT) {
        this.connection.value = "signed_out";
        return;
      }
      this.connection.value = "lost";
      const wait = Math.min(LONGEST_WAIT, 500 * 2 ** this.attempts);
      this.attempts += 1;
      this.later(() => this.connect(), wait);
    };
  }

  private receive(message: ServerMessage): void {
    const held = this.topics.get(message.topic);
    if (!held) return;
    if (message.kind === "refused") {
      held.refused.value = message.error;
      return;
    }
    const before = held.state.value;
    const after = reduceTopic(message.topic, before, message);
    held.state.value = after;
    if (after.gap && !before.gap) this.say({ kind: "subscribe", topic: message.topic });
  }

  private subscribe(topic: string, state: TopicState): void {
    const since = state.snapshot !== null && !state.gap ? state.revision : undefined;
    this.say(since === undefined ? { kind: "subscribe", topic } : { kind: "subscribe", topic, since });
  }

  private say(message: object): void {
    if (this.socket?.readyState === 1) this.socket.send(JSON.stringify(message));
  }
}

/** Opens the page's socket on the page's own origin. */
export function connectLive(path: string): Live {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return new Live(() => new WebSocket(`${scheme}://${location.host}${path}`) as LiveSocket);
}
