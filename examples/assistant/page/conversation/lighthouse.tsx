// The one picture of the page: a lighthouse whose beam turns slowly. It decorates and says nothing.
export function Lighthouse() {
  return (
    <svg className="lighthouse" viewBox="0 0 240 96" width="240" height="96" aria-hidden="true" focusable="false">
      <defs>
        <linearGradient id="beam" gradientUnits="userSpaceOnUse" x1="4" x2="236" y1="0" y2="0">
          <stop offset="0" stopColor="var(--think-lamp)" stopOpacity="0" />
          <stop offset="0.5" stopColor="var(--think-lamp)" />
          <stop offset="1" stopColor="var(--think-lamp)" stopOpacity="0" />
        </linearGradient>
      </defs>
      <path className="beam" fill="url(#beam)" d="M120 29 4 14v30ZM120 29 236 14v30Z" />
      <g
        className="tower"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinejoin="round"
        strokeLinecap="round"
      >
        <path d="M112.5 37 109 82h22l-3.5-45" />
        <path d="M110.3 37h19.400M114.5 37V21h11v16M112.5 21h15L120 13.5 112.5 21ZM120 13.500V10" />
        <path d="M111.8 49h16.400M110.8 62h18.4" />
        <path d="M117.5 82v-8a2.5 2.5 0 0 1 5 0v8" />
        <path className="sea" d="M52 82.500h136M70 88h42M122 88h36M96 93h56" />
      </g>
      <circle className="flame" cx="120" cy="29" r="3" />
    </svg>
  );
}
