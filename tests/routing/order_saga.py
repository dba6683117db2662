"""The order saga of the document, as a definition."""

from __future__ import annotations

from typing import Any

DIAGRAM = """
    [*] --> OrderCreated: Start Saga

    OrderCreated --> PaymentProcessing: Reserve Payment
    PaymentProcessing --> PaymentReserved: Success
    PaymentProcessing --> PaymentFailed: Failure

    PaymentReserved --> InventoryChecking: Check Stock
    InventoryChecking --> InventoryReserved: Available
    InventoryChecking --> InventoryUnavailable: Out of Stock

    InventoryReserved --> ShippingScheduled: Schedule Delivery
    ShippingScheduled --> OrderCompleted: Success
    ShippingScheduled --> ShippingFailed: Failure

    PaymentFailed --> CompensationStarted: Begin Rollback
    InventoryUnavailable --> ReleasePayment: Compensate
    ShippingFailed --> ReleaseInventory: Compensate

    ReleasePayment --> CompensationCompleted
    ReleaseInventory --> ReleasePayment
    CompensationStarted --> CompensationCompleted

    OrderCompleted --> [*]: Success
    CompensationCompleted --> [*]: Rolled Back
"""
"""The transitions of 'Saga State Machine Visualization'."""

RESERVE_PAYMENT = "payments.commands.payment.reserve"
RELEASE_PAYMENT = "payments.commands.payment.release"
CHECK_STOCK = "inventory.commands.stock.check"
RELEASE_STOCK = "inventory.commands.stock.release"
SCHEDULE_DELIVERY = "shipping.commands.delivery.schedule"
CANCEL_DELIVERY = "shipping.commands.delivery.cancel"

CREATED = "orders.events.order.created"
PAYMENT_RESERVED = "payments.events.payment.reserved"
PAYMENT_FAILED = "payments.events.payment.failed"
PAYMENT_RELEASED = "payments.events.payment.released"
AVAILABLE = "inventory.events.stock.reserved"
OUT_OF_STOCK = "inventory.events.stock.unavailable"
STOCK_RELEASED = "inventory.events.stock.released"
DELIVERED = "shipping.events.delivery.scheduled"
DELIVERY_FAILED = "shipping.events.delivery.failed"

ORDER: dict[str, Any] = {
    "name": "order",
    "starts": [{"on": CREATED, "to": "order_created"}],
    "states": {
        "order_created": {"then": {"to": "payment_processing", "send": [RESERVE_PAYMENT]}},
        "payment_processing": {
            "edges": [
                {"on": PAYMENT_RESERVED, "to": "payment_reserved", "undo": [RELEASE_PAYMENT]},
                {"on": PAYMENT_FAILED, "to": "payment_failed"},
            ],
            "timeout": {"after": 30, "to": "payment_failed", "undo": [RELEASE_PAYMENT]},
        },
        "payment_reserved": {"then": {"to": "inventory_checking", "send": [CHECK_STOCK]}},
        "inventory_checking": {
            "edges": [
                {"on": AVAILABLE, "to": "inventory_reserved", "undo": [RELEASE_STOCK]},
                {"on": OUT_OF_STOCK, "to": "inventory_unavailable"},
            ],
            "timeout": {"after": 60, "to": "inventory_unavailable", "send": [RELEASE_STOCK]},
        },
        "inventory_reserved": {"then": {"to": "shipping_scheduled", "send": [SCHEDULE_DELIVERY]}},
        "shipping_scheduled": {
            "edges": [
                {"on": DELIVERED, "to": "order_completed"},
                {"on": DELIVERY_FAILED, "to": "shipping_failed"},
            ],
            "timeout": {"after": 3600, "to": "shipping_failed", "send": [CANCEL_DELIVERY]},
        },
        "order_completed": {"final": True},
        "payment_failed": {"then": {"to": "compensation_started", "compensate": "all"}},
        "inventory_unavailable": {"then": {"to": "release_payment", "compensate": "last"}},
        "shipping_failed": {"then": {"to": "release_inventory", "compensate": "last"}},
        "release_inventory": {
            "edges": [{"on": STOCK_RELEASED, "to": "release_payment", "compensate": "last"}],
            "timeout": {"after": 60, "to": "release_inventory", "send": [RELEASE_STOCK]},
        },
        "release_payment": {
            "edges": [{"on": PAYMENT_RELEASED, "to": "compensation_completed"}],
            "timeout": {"after": 60, "to": "release_payment", "send": [RELEASE_PAYMENT]},
        },
        "compensation_started": {"then": {"to": "compensation_completed"}},
        "compensation_completed": {"final": True},
    },
}
