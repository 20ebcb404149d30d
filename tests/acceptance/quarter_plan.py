"""What the three offices of the quarter do: forty policies through their stages, and the news between."""

import datetime as dt
from dataclasses import dataclass

from tests.acceptance.quarter import FIRST_DAY, Page, World, spell_chinese

_COMMENTS, _APPLY, _FORCE, _COMPLY = "comments_until", "apply_by", "in_force", "comply_by"


def at(number: int) -> dt.date:
    return FIRST_DAY + dt.timedelta(days=number)


@dataclass(frozen=True)
class Move:
    """So many days after the start of a policy, the day that it has set becomes another one."""

    on: int
    to: int


@dataclass
class Planner:
    """Fills a world up to its last day; a policy begins `start` days after the first one."""

    world: World
    last: int
    _orders: int = 0

    def is_over(self, number: int) -> bool:
        return number > self.last

    def number(self) -> int:
        self._orders += 1
        return 30 + self._orders

    # The ministry.

    def rule(
        self, name: str, start: int, *moves: Move, extended: Move | None = None, is_repealed: bool = False
    ) -> None:
        """A measure of the ministry, from its draft to its repeal."""
        self._ask_in_chinese(
            "ministry", f"国家能源局关于公开征求《{name}（征求意见稿）》意见的公告", name, start, moves, extended
        )
        final = start + 34
        if self.is_over(final):
            return
        order = self.number()
        page = self.issue(name, final, order, force=final + 20)
        if not self.is_over(final + 2):
            self.world.publish(
                "ministry",
                at(final + 2),
                f"《{name}》解读",
                _EXPLAINED.format(name=name),
                policy=name,
                force=at(final + 20),
            )
        self._carry_out(name, final + 9, order)
        self.punish(name, final + 24)
        self.amend(name, final + 28, force=final + 40)
        if is_repealed:
            self.repeal(page, name, final + 44, order)

    def ready_rule(self, name: str, start: int, *, is_repealed: bool = False) -> None:
        """A measure that is issued without a draft, amended and repealed."""
        order = self.number()
        page = self.issue(name, start, order, force=start + 9)
        self.punish(name, start + 6)
        self.amend(name, start + 4, force=start + 15)
        if is_repealed:
            self.repeal(page, name, start + 18, order)

    def issue(self, name: str, on: int, order: int, *, force: int) -> Page:
        text = _ISSUED.format(name=name, order=order, signed=spell_chinese(at(on)), met=spell_chinese(at(on - 6)))
        page = self.world.publish("ministry", at(on), name, text, policy=name, force=at(force))
        self.world.state(page, _FORCE, at(force))
        return page

    def amend(self, name: str, on: int, *, force: int) -> None:
        if self.is_over(on):
            return
        title = f"国家能源局关于修改《{name}》的决定"
        text = _AMENDED.format(name=name, order=self.number(), signed=spell_chinese(at(on)))
        page = self.world.publish("ministry", at(on), title, text, policy=name, force=at(force))
        self.world.state(page, _FORCE, at(force))

    def repeal(self, page: Page, name: str, on: int, order: int) -> None:
        if self.is_over(on):
            return
        text = _REPEALED.format(name=name, order=self.number(), old=order, signed=spell_chinese(at(on)))
        decision = self.world.publish("ministry", at(on), f"国家能源局关于废止《{name}》的决定", text, policy=name)
        self.world.state(decision, _FORCE, at(on))
        self.world.repeal(page, decision, at(on))

    def punish(self, name: str, on: int) -> None:
        if self.is_over(on):
            return
        number = self.number()
        title = f"国能罚〔2026〕{number}号行政处罚决定书"
        text = _PUNISHED.format(name=name, number=number, signed=spell_chinese(at(on)))
        self.world.publish("ministry", at(on), title, text, policy=name)

    def _carry_out(self, name: str, on: int, order: int) -> None:
        """The province's rules for a measure of the ministry."""
        if self.is_over(on):
            return
        title = f"江南省能源局关于印发《江南省〈{name}〉实施细则》的通知"
        text = _CARRIED_OUT.format(name=name, order=order, number=self.number(), signed=spell_chinese(at(on)))
        page = self.world.publish("province", at(on), title, text, policy=name, force=at(on + 22))
        self.world.state(page, _FORCE, at(on + 22))

    def _ask_in_chinese(
        self, site: str, title: str, name: str, start: int, moves: tuple[Move, ...], extended: Move | None
    ) -> None:
        office = "国家能源局" if site == "ministry" else "江南省能源局"
        text = _ASKED.format(name=name, office=office, signed=spell_chinese(at(start)))
        page = self.world.publish(site, at(start), title, text, policy=name, day=at(start + 21))
        self.world.state(page, _COMMENTS, at(start + 21))
        page.mended_on = at(start + 3) if not moves else None
        self._move(page, "day", _COMMENTS, start, moves)
        if extended and not self.is_over(start + extended.on):
            until = at(start + extended.to)
            text = _EXTENDED.format(name=name, office=office, signed=spell_chinese(at(start + extended.on)))
            heading = f"{office}关于延长《{name}（征求意见稿）》征求意见期限的公告"
            notice = self.world.publish(site, at(start + extended.on), heading, text, policy=name, day=until)
            self.world.extend(page, _COMMENTS, notice, until)

    def _move(self, page: Page, name: str, kind: str, start: int, moves: tuple[Move, ...]) -> None:
        for move in moves:
            if not self.is_over(start + move.on):
                self.world.move(page, name, kind, at(start + move.on), at(start + move.to))

    # The province.

    def pilot(self, subject: str, start: int, *moves: Move) -> None:
        title = f"江南省能源局关于组织申报{subject}试点的通知"
        text = _PILOT.format(subject=subject, number=self.number(), signed=spell_chinese(at(start)))
        page = self.world.publish("province", at(start), title, text, policy=subject, day=at(start + 24))
        self.world.state(page, _APPLY, at(start + 24))
        page.mended_on = at(start + 3) if not moves else None
        self._move(page, "day", _APPLY, start, moves)

    def local_rule(self, name: str, start: int, *moves: Move) -> None:
        title = f"江南省能源局关于《{name}（征求意见稿）》公开征求意见的通知"
        self._ask_in_chinese("province", title, name, start, moves, None)
        final = start + 37
        if self.is_over(final):
            return
        text = _LOCAL.format(name=name, number=self.number(), signed=spell_chinese(at(final)))
        title = f"江南省能源局关于印发《{name}》的通知"
        page = self.world.publish("province", at(final), title, text, policy=name, force=at(final + 18))
        self.world.state(page, _FORCE, at(final + 18))

    # The regulator.

    def paper(
        self,
        number: int,
        subject: str,
        start: int,
        *moves: Move,
        final: int = 36,
        postponed: Move | None = None,
        is_revoked: bool = False,
    ) -> None:
        """A consultation paper, the policy statement that follows, and what becomes of that."""
        title = f"CP26/{number}: {subject}"
        text = _PAPER.format(number=number, subject=subject.lower())
        page = self.world.publish("regulator", at(start), title, text, policy=subject, day=at(start + 23))
        self.world.state(page, _COMMENTS, at(start + 23))
        page.mended_on = at(start + 4) if not moves else None
        self._move(page, "day", _COMMENTS, start, moves)
        self.statement(number, subject, start + final, postponed=postponed, is_revoked=is_revoked)

    def statement(
        self, number: int, subject: str, on: int, *, postponed: Move | None = None, is_revoked: bool = False
    ) -> None:
        if self.is_over(on):
            return
        days = {"force": at(on + 10), "comply": at(on + 40)}
        text = _STATEMENT.format(number=number, subject=subject.lower())
        title = f"PS26/{number}: {subject}"
        page = self.world.publish("regulator", at(on), title, text, policy=subject, **days)
        self.world.state(page, _FORCE, days["force"])
        self.world.state(page, _COMPLY, days["comply"])
        if postponed:
            self._move(page, "comply", _COMPLY, on, (postponed,))
        followed = (
            (on + 4, f"Guidance on PS26/{number}: {subject}", _GUIDANCE),
            (on + 13, f"Final Notice on breaches of PS26/{number}", _PENALTY),
        )
        for day, heading, text in followed:
            if not self.is_over(day):
                words = text.format(number=number, subject=subject.lower())
                self.world.publish("regulator", at(day), heading, words, policy=subject)
        if not self.is_over(on + 15):
            text = _CHANGE.format(number=number, subject=subject.lower())
            heading = f"Amendment to PS26/{number}: {subject}"
            change = self.world.publish("regulator", at(on + 15), heading, text, policy=subject, force=at(on + 26))
            self.world.state(change, _FORCE, at(on + 26))
        if is_revoked and not self.is_over(on + 29):
            text = _REVOCATION.format(number=number, subject=subject.lower())
            heading = f"Revocation of PS26/{number}: {subject}"
            end = self.world.publish("regulator", at(on + 29), heading, text, policy=subject, force=at(on + 31))
            self.world.state(end, _FORCE, at(on + 31))
            self.world.repeal(page, end, at(on + 31))


def build_quarter() -> tuple[World, int]:
    """Forty policies in 92 days; gives the world and how many days it has."""
    planner = Planner(World(), last=92)
    _plan_first_month(planner)
    planner.rule("新型储能电站并网运行管理办法", 12, Move(6, 31), is_repealed=True)
    planner.rule("跨省电力交易实施办法", 15, extended=Move(10, 30))
    planner.rule("天然气管网公平开放规则", 18)
    planner.rule("可再生能源消纳保障办法", 24, Move(8, 29), Move(12, 32))
    planner.rule("电力可靠性监督管理规定", 29)
    planner.rule("煤矿智能化建设指引", 33, Move(9, 30))
    planner.ready_rule("核电厂应急演练规定", 20)
    planner.ready_rule("小水电生态流量监管办法", 41, is_repealed=True)
    planner.ready_rule("能源行业信用信息规定", 52)
    planner.ready_rule("石油储备应急动用规则", 63, is_repealed=True)
    planner.pilot("虚拟电厂", 14, Move(7, 33))
    planner.pilot("园区绿色微电网", 27)
    planner.pilot("重力储能", 36, Move(10, 20))
    planner.pilot("农村分布式光伏", 47, Move(5, 30), Move(15, 37))
    planner.pilot("氢能公交", 58)
    planner.local_rule("江南省充电设施服务规范", 16)
    planner.local_rule("江南省节能审查实施办法", 31, Move(6, 27))
    planner.local_rule("江南省油气管道保护办法", 44)
    planner.paper(11, "Half-hourly metering for small suppliers", 13, Move(9, 32))
    planner.paper(12, "Capacity payments for battery storage", 22, is_revoked=True)
    planner.paper(13, "Price comparison websites", 26, Move(5, 30))
    planner.paper(14, "Black start services", 30)
    planner.paper(15, "Heat network complaints", 37, final=30)
    planner.paper(16, "Interconnector revenue caps", 45, Move(11, 19))
    planner.statement(7, "Supplier licence conditions", 17, postponed=Move(8, 55))
    planner.statement(8, "Long duration storage contracts", 28, is_revoked=True)
    planner.statement(9, "Smart tariff labels", 39)
    planner.statement(10, "Gas quality reporting", 50, postponed=Move(6, 48))
    _report(planner)
    return planner.world, planner.last


def build_month() -> tuple[World, int]:
    """Twelve policies in 31 days."""
    planner = Planner(World(), last=31)
    _plan_first_month(planner)
    _report(planner)
    return planner.world, planner.last


def _plan_first_month(planner: Planner) -> None:
    """The twelve that begin in the first days."""
    planner.rule("新型储能项目备案管理办法", 1, Move(5, 28))
    planner.rule("绿色电力证书核发规则", 1, extended=Move(7, 28))
    planner.ready_rule("电力监控系统安全防护规定", 3, is_repealed=True)
    planner.ready_rule("水电站大坝除险加固办法", 3)
    planner.pilot("工商业用户侧储能", 1, Move(5, 28))
    planner.pilot("海上风电融合发展", 1)
    planner.local_rule("江南省充换电设施建设导则", 1, Move(5, 17))
    planner.local_rule("江南省热电联产管理细则", 6)
    planner.paper(1, "Connection queue for storage projects", 1, Move(7, 28))
    planner.paper(2, "Switching suppliers within a day", 6)
    planner.statement(3, "Generator outage notices", 1, postponed=Move(7, 21))
    planner.statement(4, "Debt and prepayment meters", 1, is_revoked=True)


def _report(planner: Planner) -> None:
    """News that sets no day; some of it is of the topic."""
    world = planner.world
    for number in range(1, 7):
        for section in ("policy", "news"):
            for site, title, text in _OLDER:
                day = at(-13 * number)
                world.publish(site, day, title.format(day=day, number=number), text, section=section)
    for number in range(0, planner.last + 1, 3):
        held = spell_chinese(at(number + 5))
        about = "储能产业" if number % 12 == 6 else "电力供应"
        title = f"国家能源局召开{at(number).month}月{at(number).day}日{about}座谈会"
        world.publish("ministry", at(number), title, _MEETING.format(about=about, held=held), section="news")
        title = f"江南省{at(number).month}月{at(number).day}日用电负荷情况"
        world.publish("province", at(number), title, _FIGURES.format(count=number + 31), section="news")
        title = f"Speech on network investment, session {number // 3 + 1}"
        world.publish("regulator", at(number), title, _SPEECH, section="news")


_ASKED = """为做好有关工作，我局组织起草了《{name}（征求意见稿）》，现向社会公开征求意见。
有关单位和个人可将意见通过电子邮件发送至 yijian@energy.example，邮件主题请注明“意见反馈”。
意见反馈截止日期为{{day}}。
{{mended}}
附件：{name}（征求意见稿）
{office}
{signed}"""
_EXTENDED = """我局此前就《{name}（征求意见稿）》公开征求意见。应有关单位要求，现将意见反馈截止日期延长至{{day}}。
有关单位和个人可在上述日期前将意见发送至 yijian@energy.example。
{office}
{signed}"""
_ISSUED = """国家能源局令
第{order}号
《{name}》已经{met}国家能源局局务会议审议通过，现予公布，自{{force}}起施行。
局长 王立
{signed}
{name}
第一条 为了规范有关工作，保障各方合法权益，制定本办法。
第二条 在中华人民共和国境内从事有关活动，适用本办法。
第三条 县级以上能源主管部门负责本行政区域内的监督管理工作。
第四条 本办法自{{force}}起施行。"""
_EXPLAINED = """近日，国家能源局公布了《{name}》（以下简称《办法》）。现就有关内容解读如下。
一、出台背景。近年来行业发展迅速，需要明确各方的责任和程序。
二、主要内容。《办法》共四条，明确了适用范围和监督管理的主体。
三、施行时间。《办法》自{{force}}起施行。"""
_AMENDED = """国家能源局令
第{order}号
国家能源局决定对《{name}》作如下修改：
将第三条修改为：“省级能源主管部门负责本行政区域内的监督管理工作。”
本决定自{{force}}起施行。
国家能源局
{signed}"""
_REPEALED = """国家能源局令
第{order}号
经国家能源局局务会议审议通过，现决定废止《{name}》（国家能源局令第{old}号）。
本决定自公布之日起施行。
国家能源局
{signed}"""
_PUNISHED = """国能罚〔2026〕{number}号
当事人：东海能源科技有限公司
经查，当事人未按照《{name}》的规定报送有关情况，违反了该办法第三条的规定。
我局决定对当事人处以罚款10万元。
国家能源局
{signed}"""
_CARRIED_OUT = """江南能规〔2026〕{number}号
各市能源局：
为贯彻落实《{name}》（国家能源局令第{order}号），结合本省实际，我局制定了《江南省〈{name}〉实施细则》，现印发给你们，请认真执行。
本细则自{{force}}起施行。
江南省能源局
{signed}"""
_PILOT = """江南能函〔2026〕{number}号
各市能源局，有关企业：
为推动行业发展，我局决定组织开展{subject}试点。请符合条件的企业编制申报材料，于{{day}}前报送我局。
{{mended}}
江南省能源局
{signed}"""
_LOCAL = """江南能规〔2026〕{number}号
各市能源局：
现将《{name}》印发给你们，请认真贯彻执行。
本办法自{{force}}起施行。
江南省能源局
{signed}"""
_OLDER = (
    ("ministry", "{day.year}年第{number}批能源行业标准目录发布情况", "本批目录已经发布，请登录网站查询。"),
    ("province", "江南省{day.year}年{day.month}月份能源生产情况", "全省能源生产保持平稳，主要产品产量略有增长。"),
    ("regulator", "Newsletter {number}, {day:%B %Y}", "This newsletter looks back at the work of the last weeks."),
)
_MEETING = """国家能源局召开{about}座谈会，听取有关企业和专家的意见。会议指出，今年以来总体运行平稳。
会议要求，有关单位要做好下一步工作。{held}还将举行一次专题培训。"""
_FIGURES = """全省最高用电负荷为{count}00万千瓦，同比增长百分之四，电力供应平稳有序。"""
_PAPER = """Consultation Paper CP26/{number}
The Office of Grid Markets proposes new rules on {subject}. We explain why a change is needed and set out draft rules.
Please send us your comments by {{day}}. You can respond by email to comments@ogm.example.
{{mended}}
Office of Grid Markets"""
_STATEMENT = """Policy Statement PS26/{number}
This policy statement sets out our final rules on {subject}. It summarises the responses to CP26/{number} and our reply.
The rules come into force on {{force}}. Firms must comply with them by {{comply}}.
Office of Grid Markets"""
_GUIDANCE = """This guidance explains how firms can meet the rules on {subject} in PS26/{number}. It sets no new
requirements.
Office of Grid Markets"""
_PENALTY = """Final Notice
To: Northwind Trading Limited
The Office of Grid Markets has imposed a financial penalty of £250,000 on Northwind Trading
Limited for a breach of PS26/{number}.
Office of Grid Markets"""
_CHANGE = """This instrument amends the rules in PS26/{number}. It corrects the definition of a licensed firm.
The amendment comes into force on {{force}}.
Office of Grid Markets"""
_REVOCATION = """The Office of Grid Markets revokes PS26/{number}. The rules on {subject} are no longer needed.
The revocation takes effect on {{force}}.
Office of Grid Markets"""
_SPEECH = """The chair spoke to network companies about investment in the grid and thanked them for their work
in the winter. She said that demand had grown by 3% and that connections take too long."""
