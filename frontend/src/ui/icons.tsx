/** Line icons on a 16 px grid, drawn for this project. */
const PATHS = {
  arrow: "M3 8h10M9 4l4 4-4 4",
  build: "M3 13l6-6M7.5 3.5a3 3 0 0 1 4.3-.6L9.7 5l1.3 1.3 2.1-2.1a3 3 0 0 1-4 4.1",
  check: "M3 8.5l3.5 3.5L13 4.5",
  chip: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11M8 5v3l2 1.5",
  close: "M4 4l8 8M12 4l-8 8",
  command: "M3 4h10M3 8h6M3 12h8",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  down: "M4 6l4 4 4-4",
  download: "M8 2.5v8M4.5 7L8 10.5 11.5 7M3 13.5h10",
  drawer: "M2.5 3h11v10h-11zM2.5 9.5h11",
  gauge: "M2.5 11.5a5.5 5.5 0 1 1 11 0M8 11.5l3-4",
  grip: "M6 4v.1M10 4v.1M6 8v.1M10 8v.1M6 12v.1M10 12v.1",
  language: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11M2.5 8h11M8 2.5c2 2 2 9 0 11M8 2.5c-2 2-2 9 0 11",
  model: "M2.5 8c2-4.5 3.5-4.5 5.5 0s3.5 4.5 5.5 0",
  moon: "M12.5 9.8A5.2 5.2 0 0 1 6.2 3.5a5.2 5.2 0 1 0 6.3 6.3z",
  person: "M8 8a2.5 2.5 0 1 0 0-5a2.5 2.5 0 0 0 0 5M3.5 13.5a4.5 4.5 0 0 1 9 0",
  plus: "M8 3v10M3 8h10",
  play: "M5 3.5l7 4.5-7 4.5z",
  save: "M3 3h8l2 2v8H3zM5.5 3v3.5h5V3M5.5 13V9.5h5V13",
  sidebar: "M2.5 3h11v10h-11zM6 3v10",
  stale: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.4h-2.4",
  system: "M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3",
  sun: "M8 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 0 0 0-5M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M3.6 12.4l1-1M11.4 4.6l1-1",
  text: "M4 2.5h5.5L12.5 5.5v8H4zM6.5 8h4M6.5 10.5h4",
  tune: "M4 2.5v5M4 10.5v3M8 2.5v2M8 7.5v6M12 2.5v6M12 11.5v2M2.5 9h3M6.5 6h3M10.5 10h3",
  warning: "M8 2.5l6 11H2zM8 6.5v3.5M8 11.8v.2",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, small = false }: { name: IconName; small?: boolean }) {
  return (
    <svg
      class={small ? "kc-icon is-small" : "kc-icon"}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

export function IconButton(props: {
  icon: IconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  disabled?: boolean;
}) {
  return (
    <button
      type="button"
      class="kc-icon-button"
      title={props.label}
      aria-label={props.label}
      aria-pressed={props.pressed}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
