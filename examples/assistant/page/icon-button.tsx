// A button that shows a drawing and is named in words, for tooltips and for people who do not see it.
import type { ComponentProps } from "react";
import { Icon, type IconName } from "./icons.tsx";

interface IconButtonProps extends Omit<ComponentProps<"button">, "children"> {
  icon: IconName;
  label: string;
  size?: number;
}

export function IconButton({ icon, label, size, className = "", ...rest }: IconButtonProps) {
  return (
    <button type="button" className={`icon-button ${className}`} aria-label={label} title={label} {...rest}>
      <Icon name={icon} {...(size !== undefined && { size })} />
    </button>
  );
}
