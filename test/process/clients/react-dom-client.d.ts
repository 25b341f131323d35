// The part of react-dom the tests use; its types are not installed.
declare module "react-dom/client" {
  interface Root {
    render(node: import("react").ReactNode): void;
    unmount(): void;
  }
  export function createRoot(container: object): Root;
}
